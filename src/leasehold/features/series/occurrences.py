"""Decide about the occurrences of a series: each is granted, changed or refused in a transaction of its own.

That transaction locks the series last and writes the lease's id there (decision 0054). A refusal is written at the end
of the request: an occurrence without one is simply open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from leasehold.db.leases.lease import find_lease
from leasehold.features.series import store as rows
from leasehold.features.series.model import OccurrenceRefusal, SeriesChangedError, SeriesUnfinishedError
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import LeaseholdError
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.heal_policy import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.features.series.model import Occurrence, Series, SeriesChanges
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.lease import Lease

SECONDS: Final = 10.0
"""How long a request decides about occurrences: it keeps others from the API for so long. The next one goes on."""
_UNFINISHED: Final = OccurrenceRefusal.of(SeriesUnfinishedError(SECONDS))


def locked(connection: Connection, ident: str) -> Series:
    """Return a series that nobody else changes until the commit; raises SeriesChangedError if it was deleted."""
    found = rows.find_series(connection, ident, lock=True)
    if found is None:
        raise SeriesChangedError
    return found


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The decisions about all occurrences of a series, in the name of its owner."""

    service: Service
    caller: Caller
    sight: Sight
    use_disabled: bool

    def decided(self, series: Series, changes: SeriesChanges | None = None) -> Series:
        """Decide about what is open, and apply the changes to what is granted; return the series as it is then.

        What there is no time for is marked as refused, and open. An error of the service is raised after the refusals
        until then are written. Raises SeriesChangedError when another request wants something else meanwhile.
        """
        work, until = _Decisions(self, series, changes), self.service.steady() + SECONDS
        try:
            for number in work.order():
                if self.service.steady() > until:
                    work.refuse(number, _UNFINISHED)
                else:
                    work.decide(number)
        finally:
            after = self.service.db.transact(work.note)
        return after


@dataclass(frozen=True, slots=True)
class _Decisions:
    """The decisions of one request; `refusals` has what each occurrence was refused with, None if it was not."""

    by: Occurrences
    series: Series
    changes: SeriesChanges | None
    refusals: dict[int, OccurrenceRefusal | None] = field(default_factory=dict)

    def order(self) -> Sequence[int]:
        """Return the numbers of what is to be decided: first what there was no time for, so that all are reached.

        If leases move to a later time the last is first, because each may need what the next one leaves.
        """
        each = self.series.occurrences
        with self.by.service.db.reading() as connection:
            granted = rows.granted(connection, self.series.lease_ids)
        there = ((one.window, granted.get(one.lease_id or "")) for one in each)
        step = -1 if any(lease is not None and lease.window.start < planned.start for planned, lease in there) else 1
        wanted = [number for number in range(len(each))[::step] if self._is_wanted(number)]
        return sorted(wanted, key=lambda number: each[number].refusal != _UNFINISHED)

    def _is_wanted(self, number: int) -> bool:
        """Say whether there is something to decide; an amendment always has, and asks again for what was refused."""
        each = self.series.occurrences[number]
        return self.changes is not None or (each.open and each.refusal in (None, _UNFINISHED))

    def refuse(self, number: int, refusal: OccurrenceRefusal) -> None:
        """Note why an occurrence is not as it should be."""
        self.refusals[number] = refusal

    def decide(self, number: int) -> None:
        """Grant an occurrence, or change its lease."""
        each = self.series.occurrences[number]
        try:
            if each.open:
                self._grant(number, each)
            elif self.changes is not None:
                self._amend(number, each, self.changes)
        except SeriesChangedError:
            with self.by.service.db.reading() as connection:
                current = rows.find_series(connection, self.series.id)
            # The same request may have granted it at the same time.
            if current is None or not current.wants_as(self.series, number):
                raise
        except LeaseholdError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            self.refuse(number, OccurrenceRefusal.of(error))

    def _grant(self, number: int, each: Occurrence) -> None:
        series, asked = self.series, self.series.draft
        draft = LeaseDraft(
            series.lease_name(number),
            each.window.start,
            each.window.end,
            reservations=tuple(asked["reservations"]),
            heal_policy=chosen(asked["heal_policy"]),
            reminders=None if asked["reminders"] is None else tuple(asked["reminders"]),
            use_disabled=self.by.use_disabled,
            purpose=series.purpose,
        )
        along = partial(self._granted, number)
        create_lease(self.by.service, self.by.caller, draft, None, self.by.sight, along)

    def _granted(self, number: int, connection: Connection, lease: Lease) -> None:
        """Write the lease's id into the series, in the transaction that grants it."""
        current = self._still_wanted(number, connection)
        each = current.occurrences[number]
        if not each.open:
            raise SeriesChangedError
        rows.save_series(connection, current.with_occurrence(number, replace(each, lease_id=lease.id, refusal=None)))

    def _still_wanted(self, number: int, connection: Connection, _lease: Lease | None = None) -> Series:
        """Return the series, which is locked; raises SeriesChangedError if it wants something else by now."""
        current = locked(connection, self.series.id)
        if not current.wants_as(self.series, number):
            raise SeriesChangedError
        return current

    def _amend(self, number: int, each: Occurrence, changes: SeriesChanges) -> None:
        """Apply the changes to the lease of an occurrence, if it has not begun."""
        service = self.by.service
        with service.db.reading() as connection:
            lease = find_lease(connection, each.lease_id or "")
        if lease is None or lease.status is not LeaseStatus.PENDING or lease.window.start <= service.now():
            return
        wanted = LeaseChanges(
            name=self.series.lease_name(number) if changes.name else None,
            start=each.window.start if changes.dated and each.window.start != lease.window.start else None,
            end=each.window.end if changes.dated and each.window.end != lease.window.end else None,
            reservations=_parts(lease, changes),
            purpose=changes.purpose,
            use_disabled=self.by.use_disabled,
        )
        amend_lease(service, lease.id, wanted, None, self.by.sight, along=partial(self._still_wanted, number))
        self.refusals[number] = None

    def note(self, connection: Connection) -> Series:
        """Write what was refused, where the series still wants it, and return the series."""
        after = current = locked(connection, self.series.id)
        for number, refusal in self.refusals.items():
            mine, now = self.series.occurrences[number], current.occurrences[number]
            if current.wants_as(self.series, number) and now.lease_id == mine.lease_id:
                after = after.with_occurrence(number, replace(now, refusal=refusal))
        return current if after == current else rows.save_series(connection, after)


def _parts(lease: Lease, changes: SeriesChanges) -> tuple[Mapping[str, Any], ...] | None:
    if changes.reservations is None:
        return None
    both = zip(lease.reservations, changes.reservations, strict=True)
    return tuple({**raw, "id": part.id} for part, raw in both if not part.dropped)
