"""Formats of the history of a lease, from 1.3 on."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from leasehold.api.models.holding import HeldThen


class HeldAnswer(HeldThen):
    """What a reservation held from `start_date`, included, to `end_date`, excluded; to the second, in UTC.

    `going_on` says that it still does; the end is then the present. The causes are null where none was recorded.
    """

    start_date: str
    end_date: str
    going_on: bool
    start_cause: str | None
    end_cause: str | None


class DifferenceAnswer(TypedDict):
    """A value that has changed: a key of the `lease`, or of the `reservation` or the `event` with this id."""

    part: str
    id: str
    key: str
    before: Any
    after: Any


class ChangeAnswer(TypedDict):
    """A change of a lease. `type` is that of the event that told of it, null if none did; the time is in ISO 8601.

    `by` is `project` for somebody in the lease's project, `operator` for somebody else who may, `service` for Leasehold
    itself, and null if it is not known. `user_id` says who it was; that of an operator is shown to administrators only.
    `whole` false: an older version has recorded it, and only dates, statuses and the name are compared.
    """

    id: str
    time: str
    type: str | None
    by: str | None
    user_id: str | None
    whole: bool
    changes: list[DifferenceAnswer]


class LeaseHistoryAnswer(TypedDict):
    """All recorded changes of a lease, oldest first; the first has no values before.

    `held` is null for callers who may not see what leases have.
    """

    lease_id: str
    project_id: str
    deleted_at: str | None
    changes: list[ChangeAnswer]
    held: list[HeldAnswer] | None
