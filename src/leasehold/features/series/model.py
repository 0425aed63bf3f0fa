"""Series: leases that recur, asked for, amended and deleted in one request each (idea 1, decision 0054)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leasehold.model.errors import ConflictError, TooManyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.model.errors import LeaseholdError
    from leasehold.model.states import LeaseStatus
    from leasehold.model.terms.heal_policy import HealPolicy
    from leasehold.model.windows import Window


class TooManySeriesError(TooManyError):
    """The project has as many series of leases as it may have."""

    code = "leasehold.series.too_many"
    things = "series of leases"
    advice = "Delete one that is over."


class SeriesChangedError(ConflictError):
    """Another request has changed or deleted the series meanwhile, so this one may not go on."""

    code = "leasehold.series.changed"

    def __init__(self) -> None:
        super().__init__(
            "The series was changed or deleted by another request meanwhile. Read it again, and repeat the request if "
            "it is still wanted."
        )


class SeriesUnfinishedError(ConflictError):
    """A request about a series has used up its time before it came to this occurrence."""

    code = "leasehold.series.unfinished"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The request came to its limit of {seconds:g} seconds before this occurrence. Send it again to go on: a "
            "creation with the same Idempotency-Key, an amendment as it is."
        )


@dataclass(frozen=True, slots=True)
class SeriesDraft:
    """A requested series; `window` is that of the first occurrence, and what follows it as in `LeaseDraft`."""

    name: str
    window: Window
    rule: str
    time_zone: str
    reservations: tuple[Mapping[str, Any], ...] = ()
    heal_policy: HealPolicy | None = None
    reminders: tuple[int, ...] | None = None
    purpose: str | None = None
    use_disabled: bool = False
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class SeriesChanges:
    """A requested amendment; None means unchanged. The dates are those of the first occurrence.

    `reservations` has an object for each reservation, in their order: what changes about it. An empty `purpose` takes
    theirs away.
    """

    name: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    reservations: tuple[Mapping[str, Any], ...] | None = None
    purpose: str | None = None
    use_disabled: bool = field(default=False, compare=False)

    @property
    def dated(self) -> bool:
        """Whether dates change."""
        return self.start is not None or self.end is not None


@dataclass(frozen=True, slots=True)
class Granted:
    """What the lease of an occurrence is like now."""

    status: LeaseStatus
    window: Window


@dataclass(frozen=True, slots=True)
class OccurrenceRefusal:
    """Why an occurrence was not granted, or not changed: what the API would have answered about its lease."""

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: LeaseholdError) -> OccurrenceRefusal:
        """Return what an error says."""
        return cls(error.code, error.message, error.details)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence: its window by the plan, and its lease if it was granted.

    `refusal` is what the last request about it was refused with. Neither a lease nor a refusal means that it was not
    decided yet.
    """

    window: Window
    lease_id: str | None = None
    refusal: OccurrenceRefusal | None = None

    @property
    def open(self) -> bool:
        """Whether a request decides about it: it has no lease."""
        return self.lease_id is None


@dataclass(frozen=True, slots=True)
class Series:
    """A series of leases of one project; every change increments `generation`.

    One that was deleted stays for its idempotency key, until it is purged.
    """

    id: str
    project_id: str
    user_id: str
    name: str
    rule: str
    time_zone: str
    draft: Mapping[str, Any]
    digest: str
    occurrences: tuple[Occurrence, ...]
    created_at: datetime
    updated_at: datetime | None = None
    generation: int = 1
    deleted_at: datetime | None = None

    def with_occurrence(self, number: int, occurrence: Occurrence) -> Series:
        """Return the series with another occurrence at this place, counted from 0."""
        return replace(self, occurrences=(*self.occurrences[:number], occurrence, *self.occurrences[number + 1 :]))

    def wants_as(self, other: Series, number: int) -> bool:
        """Whether another state of the series wants the same lease for an occurrence, counted from 0."""
        mine, theirs = (
            (each.name, each.draft, each.occurrences[number].window, len(each.occurrences)) for each in (self, other)
        )
        return mine == theirs

    def lease_name(self, number: int) -> str:
        """Return the name of the lease of an occurrence, counted from 0."""
        return f"{self.name} {number + 1}/{len(self.occurrences)}"

    @property
    def purpose(self) -> str | None:
        """What its leases are for."""
        return self.draft.get("purpose") or None

    @property
    def lease_ids(self) -> Sequence[str]:
        """The leases that were granted."""
        return [each.lease_id for each in self.occurrences if each.lease_id is not None]
