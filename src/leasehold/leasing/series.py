"""Grant, amend and delete series of leases: each occurrence is a lease of its own (idea 1, decision 0054).

Each lease is decided in its own transaction, as if it were requested alone, so that a long series keeps nobody waiting.
The series is written before its first lease and again after the last. Who dies in between leaves a series that the same
request, repeated, completes: the lease of an occurrence has an idempotency key of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4, uuid5

from sqlalchemy.exc import IntegrityError

from leasehold.db import series as rows
from leasehold.db.lease import find_lease, find_leases
from leasehold.db.project import enter
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.leasing.dates import asked_window
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.new_lease import read_reservations
from leasehold.model.caller import EVERYTHING, Caller
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    InvalidInputError,
    LeaseholdError,
    NotFoundError,
    SeriesUnfinishedError,
    TooManySeriesError,
)
from leasehold.model.heal_policy import chosen
from leasehold.model.recurrence import moved, occurrences, read_zone
from leasehold.model.series import Occurrence, Refusal, Series
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Sight
    from leasehold.model.lease import Lease
    from leasehold.model.series import SeriesChanges, SeriesDraft

SECONDS: Final = 10.0
"""How long a request decides about occurrences: it keeps others from the API for so long. The next one goes on."""
MOST_SERIES: Final = 100
"""Series that a project may have. What they hold counts as that of other leases."""
TRIES: Final = 5
_CHANGED: Final = "The series was changed by another request meanwhile; read it again and repeat the change."
_UNFINISHED: Final = Refusal.of(SeriesUnfinishedError(SECONDS))
_NAMESPACE: Final = UUID("6f0d6a0e-4f0b-4c55-9a55-1f6c2a9d2b11")
"""With an idempotency key the id of a series follows from it, so that two equal requests cannot make two."""


def make_series(
    service: Service,
    caller: Caller,
    draft: SeriesDraft,
    idempotency_key: str | None = None,
    sight: Sight = EVERYTHING,
) -> Series:
    """Grant each occurrence, or note what it was refused with; return the series.

    Raises InvalidInputError and the like for what is wrong with every occurrence, and TooManySeriesError; nothing is
    stored then. A repeated idempotency key decides about what was not decided yet; with another request it raises
    ConflictError. An error of the service ends the request; what was granted by then stays, and the key continues it.
    """
    windows = occurrences(draft.rule, draft.window, read_zone(draft.time_zone))
    now = service.now()
    asked_window(LeaseDraft(draft.name, draft.window.start, draft.window.end), now)
    read_reservations(service, caller, draft.reservations, sight)
    ident = str(uuid4() if idempotency_key is None else uuid5(_NAMESPACE, f"{caller.project_id}/{idempotency_key}"))
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
        },
        digest=draft.fingerprint,
        occurrences=tuple(map(Occurrence, windows)),
        created_at=now,
    )
    made = _kept(service, new)
    return _Grants(service, caller, sight, draft.use_disabled).completed(made)


def _kept(service: Service, new: Series) -> Series:
    """Write a series and return it, or the one that the same request has made; raises as `make_series`."""

    def write(connection: Connection) -> Series:
        # Its series are counted while no other transaction of the project adds one.
        enter(connection, new.project_id)
        found = rows.find_series(connection, new.id)
        if found is not None and found.digest != new.digest:
            message = "This Idempotency-Key was used for another request; send a fresh key with each new request."
            raise ConflictError(message, field="Idempotency-Key")
        if found is not None:
            return found
        if rows.count_series(connection, new.project_id) >= MOST_SERIES:
            raise TooManySeriesError(MOST_SERIES)
        rows.add_series(connection, new)
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

    A lease that cannot be changed stays as it is, and its occurrence says why. Raises NotFoundError, InvalidInputError
    for what is wrong with every occurrence, BusyError if the series changes meanwhile.
    """
    before = get_series(service, ident)
    after = _planned(before, changes)
    owner = replace(caller, user_id=before.user_id, project_id=before.project_id)
    if changes.reservations is not None:
        read_reservations(service, owner, after.draft["reservations"], sight)
    kept = _save(service, before, replace(after, updated_at=service.now()))
    return _Grants(service, owner, sight, changes.use_disabled).completed(kept, changes)


def _planned(before: Series, changes: SeriesChanges) -> Series:
    """Return the series with its new plan."""
    first = before.occurrences[0].window
    start, end = changes.start or first.start, changes.end or first.end
    windows = [each.window for each in before.occurrences]
    plan = moved(windows, start=start - first.start, end=end - first.end)
    planned = tuple(replace(each, window=window) for each, window in zip(before.occurrences, plan, strict=True))
    draft = dict(before.draft)
    if changes.reservations is not None:
        asked = before.draft["reservations"]
        if len(changes.reservations) != len(asked):
            message = f"reservations has to have {len(asked)} objects, one for each reservation, in their order."
            raise InvalidInputError(message, field="reservations")
        draft["reservations"] = [{**old, **new} for old, new in zip(asked, changes.reservations, strict=True)]
    return replace(before, name=changes.name or before.name, draft=draft, occurrences=planned)


def delete_series(service: Service, ident: str) -> None:
    """Delete all leases of a series that are still there, and then the series; raises NotFoundError."""
    for lease_id in get_series(service, ident).lease_ids:
        try:
            delete_lease(service, lease_id)
        except NotFoundError:
            continue
    if not service.db.transact(lambda connection: rows.delete_series(connection, ident)):
        raise NotFoundError("series_id", ident)


def list_series(service: Service, project_id: str | None) -> Sequence[Series]:
    """Return the series of a project, or with None of all projects, oldest first."""
    with service.db.reading() as connection:
        return rows.list_series(connection, project_id)


def get_series(service: Service, ident: str) -> Series:
    """Return a series; raises NotFoundError."""
    with service.db.reading() as connection:
        found = rows.find_series(connection, ident)
    if found is None:
        raise NotFoundError("series_id", ident)
    return found


def statuses_of(service: Service, series: Sequence[Series]) -> Mapping[str, LeaseStatus]:
    """Return the statuses of the leases of these series that are not deleted, by id."""
    ids = [lease_id for each in series for lease_id in each.lease_ids]
    with service.db.reading() as connection:
        return rows.lease_statuses(connection, ids)


def pending_leases(service: Service, series: Series) -> Sequence[Lease]:
    """Return the leases of a series that have not begun."""
    with service.db.reading() as connection:
        found = find_leases(connection, series.lease_ids)
    return [lease for lease in found if lease.status is LeaseStatus.PENDING]


def _save(service: Service, before: Series, after: Series) -> Series:
    after = replace(after, generation=before.generation + 1)
    if not service.db.transact(lambda connection: rows.save_series(connection, before, after)):
        raise BusyError(_CHANGED)
    return after


def _save_grants(service: Service, before: Series, after: Series) -> Series:
    """Write what was decided; where an equal request has decided at the same time, the lease is the same one."""
    for _attempt in range(TRIES):
        changed = replace(after, generation=before.generation + 1)
        if service.db.transact(partial(rows.save_series, before=before, after=changed)):
            return changed
        before = get_series(service, before.id)
        pairs = zip(after.occurrences, before.occurrences, strict=True)
        decided = tuple(other if _is_done(other, None) else mine for mine, other in pairs)
        after = replace(before, occurrences=decided)
        if after == before:
            return before
    raise BusyError(_CHANGED)


@dataclass(frozen=True, slots=True)
class _Grants:
    """The decisions about all occurrences of a series, in the name of its owner."""

    service: Service
    caller: Caller
    sight: Sight
    use_disabled: bool

    def completed(self, before: Series, changes: SeriesChanges | None = None) -> Series:
        """Decide about what is open, and apply the changes to what is granted; return the series, which is written.

        What there is no time for is marked as refused, and open. An error of the service is raised after what was
        decided until then is written.
        """
        after, until = before, self.service.steady() + SECONDS
        try:
            # Those first that there was no time for, so that repeated requests come to all.
            order = sorted(enumerate(before.occurrences), key=lambda pair: pair[1].refusal != _UNFINISHED)
            for number, each in order:
                if self.service.steady() > until:
                    one = each if _is_done(each, changes) else replace(each, refusal=_UNFINISHED)
                else:
                    one = self._decided(before, number, each, changes)
                after = after.with_occurrence(number, one)
        finally:
            if after != before:
                save = _save if changes is not None else _save_grants
                after = save(self.service, before, after)
        return after

    def _decided(self, series: Series, number: int, each: Occurrence, changes: SeriesChanges | None) -> Occurrence:
        try:
            if not each.open:
                return each if changes is None else self._amended(series, number, each, changes)
            if _is_done(each, changes):
                return each
            lease = self._granted(series, number, each)
            return replace(each, lease_id=lease.id, refusal=None)
        except LeaseholdError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return replace(each, refusal=Refusal.of(error))

    def _granted(self, series: Series, number: int, each: Occurrence) -> Lease:
        draft = LeaseDraft(
            series.lease_name(number),
            each.window.start,
            each.window.end,
            reservations=tuple(series.draft["reservations"]),
            fingerprint=series.digest,
            heal_policy=chosen(series.draft["heal_policy"]),
            reminders=None if series.draft["reminders"] is None else tuple(series.draft["reminders"]),
            use_disabled=self.use_disabled,
        )
        return create_lease(self.service, self.caller, draft, f"series/{series.id}/{number}", self.sight)

    def _amended(self, series: Series, number: int, each: Occurrence, changes: SeriesChanges) -> Occurrence:
        """Apply the changes to the lease of an occurrence, if it has not begun."""
        with self.service.db.reading() as connection:
            lease = find_lease(connection, each.lease_id or "")
        if lease is None or lease.status is not LeaseStatus.PENDING or lease.window.start <= self.service.now():
            return each
        wanted = LeaseChanges(
            name=series.lease_name(number) if changes.name else None,
            start=None if each.window.start == lease.window.start else each.window.start,
            end=None if each.window.end == lease.window.end else each.window.end,
            reservations=_parts(lease, changes),
            use_disabled=self.use_disabled,
        )
        amend_lease(self.service, lease.id, wanted, None, self.sight)
        return replace(each, refusal=None)


def _is_done(each: Occurrence, changes: SeriesChanges | None) -> bool:
    """Say whether a creation that is repeated has nothing to decide about an occurrence; an amendment always has."""
    return changes is None and (not each.open or each.refusal not in (None, _UNFINISHED))


def _parts(lease: Lease, changes: SeriesChanges) -> tuple[Mapping[str, Any], ...] | None:
    if changes.reservations is None:
        return None
    both = zip(lease.reservations, changes.reservations, strict=True)
    return tuple({**raw, "id": part.id} for part, raw in both if not part.dropped)
