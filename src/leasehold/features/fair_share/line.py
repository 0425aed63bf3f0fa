"""Where each lease that waits stands, and when it is expected to start (feature A17).

It is decided as if each lease got what it asks for as early as it can, one after the other, in the calendars as they
are. No decision waits for it, and nothing is promised. What a lease gets earlier by late binding is left out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from leasehold.db.leases.lease import find_leases
from leasehold.db.waiting import MOST, waiting_for
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.leasing.deciding.decide import booked
from leasehold.leasing.deciding.free_windows import Windows
from leasehold.leasing.deciding.waiting_order import in_order, reason_of
from leasehold.leasing.waiting.waiting_list import asked_of, could_have, order_of, views_of, with_closed
from leasehold.model.budget import Budget
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.windows import Window, moved, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.terms.waiting import Waiting, WaitingLease

LONGEST: Final = 0.5
"""Seconds that one look at all leases that wait may take."""
EACH: Final = 0.1
"""Seconds that one of them may take."""
ASSUMES: Final = (
    "Each lease ahead gets what it asks for as early as it can, what is leased ends when it is to end, and nobody else "
    "asks for the same. Limits of projects are left out."
)
"""What an expected start assumes."""
_PASSED_OVER: Final = "It is kept back by another reason than a lack of resources; see status_reason."
_DRAWN: Final = "Hosts are being emptied for it, and nobody knows how long that takes."
_TOO_LATE: Final = "Nothing that is enough becomes free in time, as far as is known; leases that end early change that."
_TOO_MANY: Final = f"More than {MOST} leases are ahead of it."
_TOO_LONG: Final = "It takes too long to find out."
_BEHIND_UNKNOWN: Final = "It is not known when a lease ahead of it starts."
_NO_PLUGIN: Final = "A resource type of it is not there at present."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lease stands: how many are ahead of it, why, and when it is expected to start; `unknown` says why not."""

    ahead: int
    why: str
    expected_at: datetime | None
    unknown: str | None
    as_of: datetime


class Line:
    """The places of all leases that wait, found out at most every `[fair_share] place_seconds` in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._guard = Lock()
        self._places: Mapping[str, Place] = {}
        self._until = service.steady()

    def place(self, lease_id: str) -> Place | None:
        """Return the place of a lease; None if it waits no more. Others wait while one finds the places out."""
        with self._guard:
            if self._service.steady() >= self._until or lease_id not in self._places:
                self._places = places(self._service)
                self._until = self._service.steady() + self._service.settings.of(FairShareSettings).place_seconds
            return self._places.get(lease_id)


def places(service: Service) -> dict[str, Place]:
    """Return the place of each lease that waits."""
    now = service.now()
    with service.db.reading() as connection:
        waiting = list(waiting_for(connection, service.types.pools()))
        if not waiting:
            return {}
        order, leases = order_of(service, connection, waiting)
        ranked = in_order(order, leases)
        looks = _looks(service, connection, ranked, now)
    asked = {part.kind.pool for each in looks.values() if isinstance(each, _Look) for part in each.asked}
    expected = service.look(asked, partial(_expect, service, looks), asks=True) if asked else {}
    found: dict[str, Place] = {}
    before: Counter[frozenset[str]] = Counter()
    for each in ranked:
        ahead = sum(many for pools, many in before.items() if not pools.isdisjoint(each.waiting.pools))
        before[each.waiting.pools] += 1
        start = expected.get(each.id, looks.get(each.id, _TOO_MANY))
        known = start if isinstance(start, datetime) else None
        found[each.id] = Place(ahead, reason_of(order, each), known, start if isinstance(start, str) else None, now)
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    """A lease to find a start for, with what it asks for."""

    lease: Lease
    waiting: Waiting
    asked: Sequence[Asked]


def _looks(
    service: Service, connection: Connection, ranked: Sequence[WaitingLease], now: datetime
) -> dict[str, _Look | str]:
    """Return the first leases in order, each with what it asks for or why its start is not known."""
    found: dict[str, _Look | str] = {}
    able = [each for each in ranked if not (each.waiting.passed_over or each.waiting.draws)]
    leases = {each.id: each for each in find_leases(connection, [each.id for each in able[:MOST]])}
    for each in ranked:
        if each.waiting.passed_over or each.waiting.draws:
            found[each.id] = _PASSED_OVER if each.waiting.passed_over else _DRAWN
        elif each.waiting.expired(now):
            found[each.id] = _TOO_LATE
        elif each.id in leases:
            found[each.id] = _NO_PLUGIN
            with suppress(LeaseholdError):
                lease = leases[each.id]
                asked = with_closed(connection, lease, asked_of(service, lease))
                found[each.id] = _Look(lease, each.waiting, asked)
    return found


def _expect(
    service: Service, looks: Mapping[str, _Look | str], snapshots: Mapping[str, Snapshot], now: datetime
) -> dict[str, datetime | str]:
    """Return when each starts, or why that is not known; each is decided after those before it."""
    views, budget, blind = dict(snapshots), Budget(LONGEST, service.steady), set[str]()
    found: dict[str, datetime | str] = {}
    for ident, look in looks.items():
        if isinstance(look, str):
            continue
        if not look.waiting.pools.isdisjoint(blind):
            found[ident] = _BEHIND_UNKNOWN
            continue
        try:
            start = _first_start(service, look, views, now, budget.part(EACH))
            got = (
                None if start is None else could_have(service, look.lease, look.asked, views, start, budget.part(EACH))
            )
        except TakesTooLongError:
            found[ident] = _TOO_LONG
            blind |= look.waiting.pools
            continue
        if got is None:
            found[ident] = _TOO_LATE
        else:
            picks, terms = got
            views = booked(views, look.asked, picks, terms)
            found[ident] = terms.window.start
    return found


def _first_start(
    service: Service, look: _Look, snapshots: Mapping[str, Snapshot], now: datetime, budget: Budget
) -> datetime | None:
    """Return when a lease gets what it asks for: now, or in the first window that starts in time; None if never."""
    lease, waiting = look.lease, look.waiting
    if could_have(service, lease, look.asked, snapshots, now, budget) is not None:
        return now
    begin, length = max(lease.window.start, now), lease.window.duration
    end = moved(begin, length)
    if end is None:
        return None
    terms = service.terms(Window(begin, end), length, use_disabled=waiting.use_disabled)
    windows = Windows(views_of(service, lease, snapshots), look.asked, replace(terms, budget=budget))
    window = windows.first(to_seconds(begin), to_seconds(_last_try(waiting)))
    return None if window is None else window.start


def _last_try(waiting: Waiting) -> datetime:
    """Return the last moment at which the lease is tried by itself."""
    if waiting.deadline is not None:
        return waiting.deadline - timedelta(seconds=1)
    return waiting.next_try + waiting.pause * max((waiting.retries or 0) - waiting.tried - 1, 0)
