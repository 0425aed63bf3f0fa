"""The timeline: the resources of some types and what they do in a window, past and future (decision 0095)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.db.event_log import log_state
from leasehold.db.pool import read_pools
from leasehold.db.resources.property import private_keys
from leasehold.db.resources.resource import resources_by_number
from leasehold.features.timeline import store as stored
from leasehold.features.timeline.bars import Drawing, Pieces
from leasehold.features.timeline.model import RowType, ShownLease, Timeline
from leasehold.features.timeline.past import Past
from leasehold.features.timeline.rows import Rows
from leasehold.features.timeline.tag import Tag, since_of
from leasehold.model.errors import InvalidDateError, InvalidInputError
from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import EPOCH, to_seconds
from leasehold.resource_types.maintenance.kind import MaintenanceKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from sqlalchemy import Connection
    from sqlalchemy import Row as Tuple

    from leasehold.db.pool import PoolState
    from leasehold.features.timeline.model import TimelineRow, Unplaced
    from leasehold.features.timeline.rows import Eyes
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind

LONGEST: Final = timedelta(days=400)
MOST_BARS: Final = 60_000
"""The allocations and segments that one answer is made of: more would keep a worker busy for more than two seconds."""
MOST_ROWS: Final = 5_000
"""The rows of one page."""
FORM: Final = "3"
"""Changes with the form of the answer, so that no older answer counts as unchanged."""
_UNSTARTED: Final = frozenset({LeaseStatus.PENDING, LeaseStatus.OFFERED})
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TimelineQuestion:
    """Which rows in which window: those that match the expression, page by page; `known` is a tag of an answer.

    `as_of` asks for the timeline as it was known at that moment.
    """

    types: Sequence[str]
    window: Window
    expression: str | None = None
    limit: int = MOST_ROWS
    marker: str | None = None
    known: str | None = None
    as_of: datetime | None = None


def timeline_of(service: Service, eyes: Eyes, question: TimelineQuestion) -> Timeline | str:
    """Return the timeline; or the tag that the caller knows, if nothing of it has changed.

    Raises InvalidDateError for the window, and InvalidInputError for a type, the expression or the marker, and where
    the answer would have more than MOST_BARS.
    """
    _check(question, service.now())
    kinds = _kinds(service, question.types)
    with service.db.reading() as connection:
        # The first statement, so that the moment is not before what the others see.
        pools = read_pools(connection)
        now = service.now()
        asked = _Answering(service, eyes, question, kinds, connection, now, pools)
        private = asked.private()
        known = Tag.read(question.known or "")
        if known is not None and known.may_hold(now) and known.digest == asked.digest(private, known.since):
            return str(known)
        return asked.answer(private)


def _check(question: TimelineQuestion, now: datetime) -> None:
    window = question.window
    if question.as_of is not None and question.as_of > now:
        message = "as_of lies in the future. Leave it out to see what is known now."
        raise InvalidInputError(message, field="as_of")
    if not window.duration:
        message = "The window has to end after it begins."
        raise InvalidDateError(message, field="to")
    if window.duration > LONGEST:
        message = f"The window is longer than {LONGEST.days} days. Ask for a shorter one."
        raise InvalidDateError(message, field="to")


def _kinds(service: Service, names: Iterable[str]) -> list[Kind[Any]]:
    """Return the kinds under which the resources of these types are enrolled, each once."""
    offered = (service.types.offered(name).kind for name in names)
    found = {kind.resources: service.types.get(kind.resources).kind for kind in offered}
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Answering:
    """One question, with what answers it; `pools` are the states of all pools in the snapshot of `connection`."""

    service: Service
    eyes: Eyes
    question: TimelineQuestion
    kinds: Sequence[Kind[Any]]
    connection: Connection
    now: datetime
    pools: Mapping[str, PoolState]

    @property
    def names(self) -> list[str]:
        return [kind.resources for kind in self.kinds]

    @property
    def project(self) -> str | None:
        return None if self.eyes.everything else self.eyes.caller.project_id

    def private(self) -> frozenset[tuple[str, str]]:
        """Return the names of properties that the caller may not see, each after its type."""
        return frozenset() if self.eyes.sight.private else private_keys(self.connection, self.names)

    def types(self) -> list[RowType]:
        margins = self.service.margins
        return [
            RowType(
                kind.resources,
                self.eyes.identifies(kind),
                -(-margins.of(kind.pool) // _SECOND),
                self.service.lead_of([kind]) // _SECOND,
            )
            for kind in self.kinds
        ]

    def digest(self, private: Collection[tuple[str, str]], since: datetime) -> str:
        """Return what changes whenever the answer does after a moment, if not by time alone; takes one statement."""
        question, pools = self.question, self.pools
        states = [(each, pools[each].generation, pools[each].nonces) for each in sorted(self._pools) if each in pools]
        leases = self.service.settings.leases
        parts = (
            (FORM, self.eyes.marks, self.types(), states, stored.lease_marks(self.connection, self.project, since)),
            (question.window.seconds, question.expression, question.limit, question.as_of, question.marker),
            (sorted(private), leases.rebinding_seconds, leases.rebind_before_start),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    @property
    def _pools(self) -> frozenset[str]:
        return frozenset(kind.pool for kind in self.kinds)

    def answer(self, private: Collection[tuple[str, str]]) -> Timeline:
        """Read the answer, in as many statements as there are tables."""
        start, end = self.question.window.seconds
        moment = self.question.as_of or self.now
        pieces = Pieces(to_seconds(moment))
        if self.question.as_of is not None:
            # What was held then may have been given back before the window begins.
            begin, finish = min(start, pieces.now), max(end, pieces.now + 1)
        else:
            begin, finish = start, end
        wanted = stored.Range(begin, finish, self._pools, self._users(), to_seconds(self.now))
        if not wanted.has_past:
            # Time alone brings into the window what is not released then.
            pieces.until = start
        booked = stored.read_booked(self.connection, wanted, MOST_BARS + 1)
        recorded = stored.read_recorded(self.connection, wanted, MOST_BARS + 1)
        if len(booked) + len(recorded) > MOST_BARS:
            message = f"The answer would be made of more than {MOST_BARS} bars. Ask for a shorter window."
            raise InvalidInputError(message, field="to")
        past = Past(self.connection, moment)
        if self.question.as_of is None:
            pieces.add_booked(booked)
            pieces.add_recorded(recorded)
            shown = self._leases(wanted)
        else:
            past.look(wanted, {each.lease_id for each in (*booked, *recorded) if each.starts_at <= pieces.now})
            pieces.made += past.pieces(booked, recorded)
            shown = past.known
        for each in recorded:
            if each.lease_id not in shown and self.project in (None, each.project_id):
                # The lease itself was purged; its record has stayed.
                shown[each.lease_id] = ShownLease(each.lease_id, each.project_id, each.user_id)
        within = list(pieces.within(start, end))
        rows = Rows(self.eyes, self.kinds, self.types(), private, stored.row_key(self.connection))
        page, following, own = self._page(rows, {each.number for each in within if each.lease_id in shown})
        maintenances = self._maintenances(wanted, recorded)
        drawing = Drawing(shown, maintenances, {each.number: place for place, (each, _) in enumerate(page)}, own)
        # Between two leases the resource is cleaned for both.
        drawing.draw(within, pieces.now, [2 * rows.types[row.type].cleaning for _, row in page])
        unplaced = self._unplaced(past, pieces, (start, end))
        since = since_of(self.now)
        return Timeline(
            window=self.question.window,
            now=self.now,
            cursor=log_state(self.connection).end,
            types=rows.types,
            rows=[row for _, row in page],
            bars=drawing.bars,
            unplaced=[(drawing.place_of(each.lease_id), each) for each in unplaced],
            leases=drawing.leases,
            next=following,
            tag=str(Tag(self.digest(private, since), until=pieces.until, since=since)),
            as_of=self.question.as_of,
        )

    def _unplaced(self, past: Past, pieces: Pieces, window: tuple[int, int]) -> Sequence[Unplaced]:
        """Return what of these types leases were to have, as of a moment."""
        if self.question.as_of is None:
            return ()
        begun = {each.lease_id for each in pieces.made}
        users = self._users()
        found = past.unplaced(self.service.types, begun, window)
        return [each for each in found if each.resource_type in users]

    def _users(self) -> frozenset[str]:
        """Return the names of all types, installed or not, that use these pools."""
        return self.service.types.using(self._pools)

    def _leases(self, wanted: stored.Range) -> dict[str, ShownLease]:
        """Return the leases of the range that the caller may see."""
        settings = self.service.settings.leases
        ahead = to_seconds(EPOCH + settings.rebind_before_start)
        moving = bool(settings.rebinding_seconds) and not all(kind.public for kind in self.kinds)
        shown = {}
        for row in stored.read_leases(self.connection, wanted, self.project):
            # Late binding may give these others (`leasing/reading/holding.py`).
            unstarted = row.status in _UNSTARTED and row.deleted_at is None and not row.degraded and not row.at_risk
            movable = to_seconds(row.start_at) - ahead if moving and unstarted else None
            shown[row.id] = ShownLease.of(row, row.start_at, row.end_at, movable)
        return shown

    def _maintenances(self, wanted: stored.Range, recorded: Iterable[Tuple[*tuple[Any, ...]]]) -> frozenset[str]:
        if MaintenanceKind.pool not in wanted.pools:
            return frozenset()
        of_past = (each.lease_id for each in recorded if each.resource_type == MAINTENANCE)
        return stored.read_maintenances(self.connection, wanted) | frozenset(of_past)

    def _page(
        self, rows: Rows, mine: AbstractSet[int]
    ) -> tuple[list[tuple[Resource, TimelineRow]], str | None, frozenset[int]]:
        """Return the rows of the page, the next marker, and the numbers of which the caller sees nothing of others."""
        enrolled = [each for kind in self.kinds for each in self._enrolled(kind)]
        as_of = self.question.as_of
        if as_of is not None:
            enrolled = [each for each in enrolled if each.created_at is None or each.created_at <= as_of]
        gone = resources_by_number(self.connection, mine - {each.number for each in enrolled})
        past = [each for each in gone.values() if each.type in self.names]
        seen = [each for each in enrolled if self.eyes.sees(each)]
        own = [each for each in (*enrolled, *past) if each.number in mine and not self.eyes.sees(each)]
        if self.eyes.lists():
            own += past
        ordered = rows.ordered(rows.matching(self.question.expression, [*seen, *own]))
        begin = 0
        if self.question.marker is not None:
            begin = _place(ordered, self.question.marker) + 1
        page = ordered[begin : begin + self.question.limit]
        more = len(ordered) > begin + self.question.limit
        following = page[-1][1].id if more else None
        if as_of is not None:
            page = [(each, replace(row, state=None, reason=None)) for each, row in page]
        return page, following, frozenset(each.number for each in own)

    def _enrolled(self, kind: Kind[Any]) -> Iterator[Resource]:
        """Yield the enrolled resources of a type, in the order of their enrolment."""
        state = self.pools.get(kind.pool)
        found = () if state is None else self.service.enrolled.of(self.connection, kind.pool, state)
        return (each for each in found if each.type == kind.resources)


def _place(ordered: Sequence[tuple[Resource, TimelineRow]], marker: str) -> int:
    place = next((place for place, (_, row) in enumerate(ordered) if row.id == marker), None)
    if place is None:
        message = "marker is not among the rows, or not any more. Send the `next` of the page before, or no marker."
        raise InvalidInputError(message, field="marker")
    return place
