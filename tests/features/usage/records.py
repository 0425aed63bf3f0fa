"""Random records of usage, in the database and as plain spans from which any sum can be counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from sqlalchemy import delete, insert, update

from leasehold.db.refusal import add_refusals
from leasehold.db.tables import allocations, leases, refusals, reservations, resources, segments, tasks
from leasehold.features.usage.model import Loss
from leasehold.features.usage.store import (
    PENDING,
    poll_of,
    usage_cursor,
    usage_days,
    usage_losses,
    usage_terms,
    usage_uses,
)
from leasehold.features.usage.sums import DAY, Group
from leasehold.model.refused import Operation, Refused
from leasehold.model.resource import FLOATING_IP, HOST, MAINTENANCE
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.db.examples import NOW, enrol, hold, lease, reservation, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from leasehold.features.usage.sums import Asked

END = to_seconds(NOW)
REACH = 3 * DAY
"""How far the records reach back."""
HOSTS = 3
SPAN = st.tuples(st.integers(0, REACH), st.integers(1, 2 * DAY))
"""When something begins, after the earliest moment, and how long it lasts: in seconds."""


@dataclass(frozen=True)
class Piece:
    """What a reservation held of a host: recorded up to a moment, and then in the book, if that is not the end."""

    host: int
    span: tuple[int, int]
    slots: int
    recorded: float
    left: bool

    @property
    def window(self) -> tuple[int, int]:
        return of_span(self.span)

    @property
    def until(self) -> int:
        """The moment up to which it is recorded."""
        begin, end = self.window
        return min(END, begin + int(self.recorded * (end - begin)))


@dataclass(frozen=True)
class Promise:
    """A reservation with all that is recorded of it. `told` is the last event of one that is not over."""

    project: str
    lender: str | None
    type: str
    amount: int
    missing: int
    delivered: bool
    told: tuple[int, int] | None
    pieces: list[Piece]
    losses: list[tuple[Loss, int, tuple[int, int]]]
    uses: list[tuple[int, int, tuple[int, int]]]

    @property
    def terms(self) -> tuple[int, int]:
        """When its last event was, and its end: nothing is held after that, or late."""
        told, end = (END - REACH, END + REACH) if self.told is None else of_span(self.told)
        lost = (of_span(span)[1] for _, _, span in self.losses)
        return told, max([end, *(piece.window[1] for piece in self.pieces), *lost])

    @property
    def over(self) -> int | None:
        """When it was over: after all that was held, or late."""
        held = [piece.window[1] for piece in self.pieces]
        lost = [of_span(span)[1] for _, _, span in self.losses]
        return min(END, max([END - REACH, *held, *lost])) if self.told is None else None


@dataclass(frozen=True)
class Span:
    """So much of something, of a reservation, and when."""

    what: str
    owner: Promise
    number: int
    amount: int
    begin: int
    end: int
    host: int | None = None


def of_span(span: tuple[int, int]) -> tuple[int, int]:
    return END - REACH + span[0], END - REACH + span[0] + span[1]


PIECES = st.builds(
    Piece,
    host=st.integers(0, HOSTS - 1),
    span=SPAN,
    slots=st.integers(1, 4),
    recorded=st.sampled_from([0.0, 0.0, 0.3, 0.9999, 1.0, 1.0]),
    left=st.sampled_from([False, False, False, True]),
)
PROMISES = st.builds(
    Promise,
    project=st.sampled_from(["demo", "other"]),
    lender=st.sampled_from([None, None, "demo", "other"]),
    type=st.sampled_from([HOST, HOST, FLOATING_IP, MAINTENANCE]),
    amount=st.integers(3, 9),
    missing=st.integers(0, 3),
    delivered=st.booleans(),
    told=st.none() | SPAN,
    pieces=st.lists(PIECES, max_size=3),
    losses=st.lists(st.tuples(st.sampled_from(Loss), st.integers(1, 5), SPAN), max_size=3),
    uses=st.lists(st.tuples(st.integers(0, HOSTS - 1), st.integers(1, 3), SPAN), max_size=2),
)


def user_of(number: int) -> str:
    return f"user-{number % 2}"


def spans(promises: Sequence[Promise]) -> Iterator[Span]:
    """Yield all that the records say, up to the present."""
    for number, each in enumerate(promises):
        for piece in each.pieces:
            begin, end = piece.window
            # What was left is not held any more from the moment to which it is recorded, or from its start.
            end = min(end, max(begin, piece.until)) if piece.left else end
            yield Span("held", each, number, piece.slots, begin, end, piece.host)
        for state, amount, span in each.losses:
            yield Span(state.value, each, number, amount, *of_span(span))
        for host, amount, span in each.uses:
            yield Span("used", each, number, amount, *of_span(span), host)
        if each.told is not None:
            begin, end = each.terms
            if not each.delivered and each.amount > each.missing:
                yield Span("late", each, number, each.amount - each.missing, begin, end)
            yield Span("missing", each, number, each.missing, begin, end)


def within(each: Span, start: int, end: int) -> int:
    """Return the seconds of a span in a window, times the amount."""
    return each.amount * max(0, min(each.end, end, END) - max(each.begin, start))


def counted(promises: Sequence[Promise], what: str, asked: Asked, *, start: int | None = None) -> Counter[Any]:
    """Count by hand what a report sums, from `start` on if that is given."""
    found: Counter[Any] = Counter()
    begin = asked.start if start is None else max(start, asked.start)
    for each in there(promises, what, asked):
        owner = each.owner.lender if what == "lent" else each.owner.project
        if asked.project_id in (None, owner) and each.owner.type != MAINTENANCE:
            for first in range(begin - begin % DAY, asked.end, DAY) if asked.group is Group.DAY else [begin]:
                last = min(asked.end, first + DAY) if asked.group is Group.DAY else asked.end
                if seconds := within(each, max(begin, first), last):
                    found[key_of(each, owner, first, asked.group)] += seconds
    return found


def there(promises: Sequence[Promise], what: str, asked: Asked) -> Iterator[Span]:
    every = list(spans(promises))
    if what == "late" and asked.group is Group.RESOURCE:
        yield from late_of_hosts(every)
    elif what == "lent":
        yield from (each for each in every if each.what == "held" and each.owner.lender is not None)
    else:
        yield from (each for each in every if each.what == what)


def late_of_hosts(every: Sequence[Span]) -> Iterator[Span]:
    for each in every:
        for late in every:
            if each.what == "held" and late.what == "late" and late.number == each.number:
                begin, end = max(each.begin, late.begin), min(each.end, late.end)
                yield Span("late", each.owner, each.number, each.amount, begin, end, each.host)


def key_of(each: Span, owner: str | None, day: int, group: Group) -> tuple[Any, ...]:
    user = user_of(each.number)
    named = {
        Group.PROJECT: (owner,),
        Group.USER: (owner, user),
        Group.RESOURCE: (f"host-{each.host}.example",),
        Group.KIND: (),
        Group.LEASE: (owner, user, f"lease-{each.number}"),
        Group.DAY: (day,),
    }
    return (*named[group], each.owner.type)


class Writer:
    """Writes records to an empty database, of which nothing else has been made."""

    def __init__(self, connection: Connection) -> None:
        for table in (usage_cursor, usage_days, usage_uses, usage_losses, usage_terms, refusals):
            connection.execute(delete(table))
        for table in (allocations, segments, reservations, tasks, leases, resources):
            connection.execute(delete(table))
        self._connection = connection
        self._numbers = [enrol(connection, f"host-{each}") for each in range(HOSTS)]

    def write(self, promises: Sequence[Promise], looked: dict[str, int]) -> None:
        """Write all; `looked` says since when somebody looks at what is used, by type."""
        for number, each in enumerate(promises):
            self._promise(number, each)
        self._rows(
            usage_cursor,
            [{"name": poll_of(name), "since": since, "position": END} for name, since in looked.items()],
        )

    def refuse(self, counts: Sequence[tuple[int, str, str]]) -> None:
        """Write a refusal for each hour, project and type."""
        found = Counter(
            (NOW - timedelta(hours=hour), Refused(project, Operation.CREATE, "leasehold.x", type_, 0))
            for hour, project, type_ in counts
        )
        add_refusals(self._connection, found)

    def _promise(self, number: int, each: Promise) -> None:
        own = {
            "lease_id": f"lease-{number}",
            "reservation_id": f"part-{number}",
            "project_id": each.project,
            "user_id": user_of(number),
            "resource_type": each.type,
        }
        part = reservation(own["lease_id"], id=own["reservation_id"], resource_type=each.type)
        made = lease(
            id=own["lease_id"], project_id=each.project, user_id=own["user_id"], reservations=(part,), events=()
        )
        write(
            self._connection,
            **{name: getattr(made, name) for name in ("id", "project_id", "user_id", "reservations", "events")},
        )
        for piece in each.pieces:
            self._piece(own, made, piece)
        self._rows(
            usage_losses,
            [{**own, "state": state.value, "amount": amount, **moments(span)} for state, amount, span in each.losses],
        )
        self._rows(
            usage_uses,
            [{**own, **self._host(host), "amount": amount, **moments(span)} for host, amount, span in each.uses],
        )
        told, end = each.terms
        known = {
            "amount": each.amount,
            "missing": each.missing,
            "starts_at": END - REACH,
            "ends_at": end,
            "delivered_at": told if each.delivered else None,
            "told_at": told,
            "over_at": each.over,
            "unused": None if each.uses else PENDING,
            "lender_project_id": each.lender,
        }
        self._rows(usage_terms, [{**own, **known}])

    def _piece(self, own: dict[str, str], made: Any, piece: Piece) -> None:
        begin, end = piece.window
        if piece.until > begin:
            held = {**self._host(piece.host), "slots": piece.slots, "written_at": NOW}
            self._rows(segments, [{**own, **held, "starts_at": begin, "ends_at": piece.until}])
        if piece.until == end:
            return
        number, window = self._numbers[piece.host], Window.of_seconds(begin, end)
        (ident,) = hold(self._connection, made, number, window=window, slots=piece.slots)
        # An older process vacated it without a segment, to the microsecond.
        left = from_seconds(max(begin, piece.until)) + timedelta(microseconds=999_999) if piece.left else None
        until = piece.until if piece.until > begin else None
        changes = {"recorded_until": until, "left_at": left}
        self._connection.execute(update(allocations).where(allocations.c.id == ident).values(changes))

    def _host(self, host: int) -> dict[str, Any]:
        return {"resource_number": self._numbers[host], "resource": f"host-{host}.example"}

    def _rows(self, table: Any, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._connection.execute(insert(table), rows)


def moments(span: tuple[int, int]) -> dict[str, int]:
    begin, end = of_span(span)
    return {"starts_at": begin, "ends_at": end}
