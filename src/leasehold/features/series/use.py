"""Grant, amend and delete series of leases: each occurrence is a lease of its own (idea 1, decision 0054).

Each lease is decided in its own transaction, as if it were requested alone, so that a long series keeps nobody waiting.
That transaction locks the series, makes sure that it still wants this lease, and writes the lease's id there. So the
series names exactly the leases that were granted for it, whoever dies or changes it in between.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4, uuid5

from sqlalchemy.exc import IntegrityError

from leasehold.db.leases.lease import find_leases
from leasehold.db.project import enter
from leasehold.features.series import store as rows
from leasehold.features.series.model import Occurrence, Series, SeriesChangedError, TooManySeriesError
from leasehold.features.series.occurrences import Occurrences, locked
from leasehold.features.series.recurrence import occurrences
from leasehold.leasing.dates import asked_window
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.new_lease import read_reservations
from leasehold.leasing.once import check_key, done_and_gone
from leasehold.leasing.owned import OwnedItems
from leasehold.model.caller import EVERYTHING, Caller
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.hours import read_zone
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.features.series.model import Granted, SeriesChanges, SeriesDraft
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Sight
    from leasehold.model.lease import Lease

MOST_SERIES: Final = 100
"""Series that a project may have. What they hold counts as that of other leases."""
SERIES = OwnedItems(rows.SERIES, "series_id", lambda _: MOST_SERIES, TooManySeriesError)
_NAMESPACE: Final = UUID("6f0d6a0e-4f0b-4c55-9a55-1f6c2a9d2b11")
"""With an idempotency key the id of a series follows from it, so that two equal requests cannot make two."""


def make_series(
    service: Service, caller: Caller, draft: SeriesDraft, idempotency_key: str | None = None, sight: Sight = EVERYTHING
) -> Series:
    """Grant each occurrence, or note what it was refused with; return the series.

    Raises InvalidInputError and the like for what is wrong with every occurrence, and TooManySeriesError; nothing is
    stored then. A repeated idempotency key decides about what was not decided yet; with another request it raises
    ConflictError. An error of the service ends the request; what was granted by then stays, and the key continues it.
    """
    grants = Occurrences(service, caller, sight, draft.use_disabled)
    ident = str(uuid4() if idempotency_key is None else uuid5(_NAMESPACE, f"{caller.project_id}/{idempotency_key}"))
    with service.db.reading() as connection:
        made = _made_before(connection, ident, draft.fingerprint)
    if made is not None:
        return grants.decided(made)
    windows = occurrences(draft.rule, draft.window, read_zone(draft.time_zone))
    now = service.now()
    asked_window(LeaseDraft(draft.name, draft.window.start, draft.window.end), now)
    read_reservations(service, caller, draft.reservations, sight)
    new = Series(
        id=ident,
        project_id=caller.project_id,
        user_id=caller.user_id,
        name=draft.name,
        rule=draft.rule,
        time_zone=draft.time_zone,
        draft={
            "reservations": [dict(each) for each in draft.reservations],
            "heal_policy": draft.heal_policy,
            "reminders": None if draft.reminders is None else list(draft.reminders),
            **({} if draft.purpose is None else {"purpose": draft.purpose}),
        },
        digest=draft.fingerprint,
        occurrences=tuple(map(Occurrence, windows)),
        created_at=now,
    )
    return grants.decided(_kept(service, new))


def _made_before(connection: Connection, ident: str, digest: str) -> Series | None:
    """Return the series that the same request has made; raises ConflictError if another one did, or if it is gone."""
    found = rows.find_series(connection, ident, gone=True)
    if found is not None:
        check_key(found.digest, digest)
        if found.deleted_at is not None:
            raise done_and_gone(f"The series {found.id} was deleted")
    return found


def _kept(service: Service, new: Series) -> Series:
    """Write a series and return it, or the one that the same request has made; raises as `make_series`."""

    def write(connection: Connection) -> Series:
        # Its series are counted while no other transaction of the project adds one.
        enter(connection, new.project_id)
        if made := _made_before(connection, new.id, new.digest):
            return made
        SERIES.check_room(service, connection, new.project_id)
        rows.SERIES.add(connection, new)
        return new

    try:
        return service.db.transact(write)
    except IntegrityError:
        # The same request has committed at the same time.
        return service.db.transact(write)


def amend_series(
    service: Service, caller: Caller, ident: str, changes: SeriesChanges, sight: Sight = EVERYTHING
) -> Series:
    """Change each lease that has not begun, as an amendment of it would, and ask again for what was refused.

    Dates move all to where the rule has them; nothing else moves a lease. One that cannot be changed stays as it is,
    and its occurrence says why. Raises NotFoundError, InvalidInputError for what is wrong with every occurrence,
    SeriesChangedError if another request changes the series meanwhile.
    """
    before = SERIES.get(service, ident)
    owner = replace(caller, user_id=before.user_id, project_id=before.project_id)
    if changes.reservations is not None:
        read_reservations(service, owner, _planned(before, changes).draft["reservations"], sight)

    def plan(connection: Connection) -> Series:
        current = locked(connection, ident)
        if changes.reservations is not None and current.draft != before.draft:
            raise SeriesChangedError
        return rows.save_series(connection, replace(_planned(current, changes), updated_at=service.now()))

    return Occurrences(service, owner, sight, changes.use_disabled).decided(service.db.transact(plan), changes)


def _planned(before: Series, changes: SeriesChanges) -> Series:
    """Return the series with its new plan: other dates are those that its rule gives from there, in its zone."""
    draft, planned = dict(before.draft), before.occurrences
    if changes.purpose is not None:
        draft["purpose"] = changes.purpose
    if changes.dated:
        windows = _moved(before, changes)
        planned = tuple(replace(each, window=window) for each, window in zip(planned, windows, strict=True))
    if changes.reservations is not None:
        asked = before.draft["reservations"]
        if len(changes.reservations) != len(asked):
            message = f"reservations has to have {len(asked)} objects, one for each reservation, in their order."
            raise InvalidInputError(message, field="reservations")
        draft["reservations"] = [{**old, **new} for old, new in zip(asked, changes.reservations, strict=True)]
    return replace(before, name=changes.name or before.name, draft=draft, occurrences=planned)


def _moved(series: Series, changes: SeriesChanges) -> Sequence[Window]:
    """Return the windows by the rule from a new first one; raises InvalidInputError if it does not give as many."""
    field, first = "end_date" if changes.start is None else "start_date", series.occurrences[0].window
    start, end = changes.start or first.start, changes.end or first.end
    if end <= start:
        message = "End date must be later than start date."
        raise InvalidInputError(message, field="end_date")
    try:
        windows = occurrences(series.rule, Window(start, end), read_zone(series.time_zone))
    except InvalidInputError as error:
        message = (
            f"{error.message} Its rule is {series.rule}, in {series.time_zone}; for another one make a new series."
        )
        raise InvalidInputError(message, field=field) from None
    if len(windows) != len(series.occurrences):
        message = (
            f"The rule {series.rule} gives {len(windows)} occurrences from there, and the series has "
            f"{len(series.occurrences)}. Choose dates from which it gives as many, or make a new series."
        )
        raise InvalidInputError(message, field=field)
    return windows


def delete_series(service: Service, ident: str) -> None:
    """Delete all leases of a series that are still there, and then the series; raises NotFoundError.

    Leases that another request grants meanwhile are deleted too. Who dies in between leaves the rest to the next one.
    """
    deleted: set[str] = set()

    def close(connection: Connection) -> Sequence[str]:
        series = rows.find_series(connection, ident, lock=True)
        if series is None:
            raise NotFoundError(SERIES.variable, ident)
        left = [each for each in series.lease_ids if each not in deleted]
        if not left:
            rows.save_series(connection, replace(series, deleted_at=service.now()))
        return left

    while left := service.db.transact(close):
        for lease_id in left:
            with suppress(NotFoundError):
                delete_lease(service, lease_id)
        deleted.update(left)


def granted_of(service: Service, series: Sequence[Series]) -> Mapping[str, Granted]:
    """Return what the leases of these series are like that are not deleted, by id."""
    ids = [lease_id for each in series for lease_id in each.lease_ids]
    with service.db.reading() as connection:
        return rows.granted(connection, ids)


def pending_leases(service: Service, series: Series) -> Sequence[Lease]:
    """Return the leases of a series that have not begun."""
    with service.db.reading() as connection:
        found = find_leases(connection, series.lease_ids)
    return [lease for lease in found if lease.status is LeaseStatus.PENDING]
