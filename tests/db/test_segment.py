"""Segments: each change of an allocation closes what it held until then, on every database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select, text, update

from leasehold.db.allocation import (
    Grant,
    Shift,
    end_allocations,
    insert_allocations,
    leave_allocations,
    move_allocations,
)
from leasehold.db.leases.lease import find_lease
from leasehold.db.past.record import SegmentFilter, each_segment, keep_segments
from leasehold.db.tables import allocations, segments
from leasehold.model.allocation import Pick
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST_POOL
from leasehold.model.segment import Cause, Segment
from leasehold.model.windows import Window, to_seconds
from tests.db.examples import NOW, enrol, hold, hour, hours, write

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.allocation import Allocation

Change = Callable[["Connection", Sequence["Allocation"], "datetime"], None]


@dataclass
class Past:
    """Two hosts and a lease from 10 to 11 o'clock of two reservations; it is 9 o'clock."""

    db: Database
    numbers: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = [self.db.transact(partial(enrol, name=name)) for name in "ab"]
        self.lease = self.db.transact(lambda connection: write(connection, parts=2, purpose="A test €"))

    def hold(self, *numbers: int, **more: Any) -> list[int]:
        return self.db.transact(lambda connection: hold(connection, self.lease, *numbers, **more))

    def change(self, change: Change, now: datetime, ids: Sequence[int] | None = None) -> None:
        """Change the lease's allocations of these ids; None means all."""

        def run(connection: Connection) -> None:
            found = self.allocations(connection)
            change(connection, [each for each in found if ids is None or each.id in ids], now)

        self.db.transact(run)

    def allocations(self, connection: Connection) -> list[Allocation]:
        found = find_lease(connection, self.lease.id)
        assert found is not None
        return [held for part in found.reservations for held in part.allocations]

    def closed(self) -> list[tuple[Window, str | None, str | None]]:
        """Return window and causes of the rows of the table."""
        columns = segments.c.starts_at, segments.c.ends_at, segments.c.start_cause, segments.c.end_cause
        with self.db.reading() as connection:
            rows = connection.execute(select(*columns).order_by(segments.c.starts_at)).all()
        return [(Window.of_seconds(*row[:2]), *row[2:]) for row in rows]

    def found(self, now: datetime, **asked: Any) -> list[Segment]:
        with self.db.reading() as connection:
            return list(each_segment(connection, SegmentFilter(**asked), now))


@pytest.fixture
def past(db: Database) -> Past:
    return Past(db)


def end(cause: Cause = Cause.DELETED, *, released: bool = True) -> Change:
    return lambda connection, held, now: end_allocations(connection, held, 2, now, cause, released=released)


def move(window: Window, cause: Cause = Cause.EXTENDED) -> Change:
    return lambda connection, held, now: move_allocations(
        connection, Shift(HOST_POOL, held, window, cause), 2, now, connection
    )


def leave(connection: Connection, held: Sequence[Allocation], now: datetime) -> None:
    leave_allocations(connection, held, 2, now, Cause.HEALED)


@pytest.mark.parametrize(
    ("change", "moment", "closed"),
    [
        pytest.param(end(), 0.5, None, id="what lay ahead leaves nothing"),
        pytest.param(end(), 1, None, id="nor what ends in the second in which it begins"),
        pytest.param(end(), 1.5, (1, 1.5, "deleted"), id="an early end has its own cause"),
        pytest.param(end(released=False), 1.5, (1, 1.5, "deleted"), id="whether it is released or not"),
        pytest.param(end(), 2, (1, 2, "ended"), id="what reached its end has ended"),
        pytest.param(end(), 3, (1, 2, "ended"), id="and a late release adds nothing"),
        pytest.param(move(hours(1, 3)), 0.5, None, id="moving what lies ahead leaves nothing"),
        pytest.param(move(hours(1, 3)), 1.5, (1, 1.5, "extended"), id="an extension splits what runs"),
        pytest.param(move(hours(1, 2)), 1.5, None, id="a move to the same window splits nothing"),
        pytest.param(move(hours(5, 6), Cause.AMENDED), 1.5, (1, 1.5, "amended"), id="a new start ends what was held"),
        pytest.param(leave, 1.5, (1, 1.5, "healed"), id="a vacated host is held until it is vacated"),
        pytest.param(leave, 0.5, None, id="and not at all before it began"),
    ],
)
def test_a_change_closes_what_was_held_until_then(
    past: Past, change: Change, moment: float, closed: tuple[float, float, str] | None
) -> None:
    past.hold(past.numbers[0])
    past.change(change, hour(moment))
    wanted = [] if closed is None else [(hours(*closed[:2]), "granted", closed[2])]
    assert past.closed() == wanted
    past.change(end(), hour(9))
    assert past.closed()[: len(wanted)] == wanted


def test_what_goes_on_begins_where_the_last_segment_ended(past: Past) -> None:
    past.hold(past.numbers[0])
    past.change(move(hours(1, 3)), hour(1.5))
    past.change(move(hours(1, 4)), hour(2))
    before = [(hours(1, 1.5), "granted", "extended"), (hours(1.5, 2), "extended", "extended")]
    (running,) = [each for each in past.found(hour(3)) if each.open]
    assert (running.window, running.start_cause, running.end_cause) == (hours(2, 3), "extended", None)
    past.change(end(), hour(5))
    assert past.closed() == [*before, (hours(2, 4), "extended", "ended")]
    assert not any(each.open for each in past.found(hour(9)))


def test_a_segment_says_all_that_is_known_and_needs_no_other_row(past: Past) -> None:
    address = past.db.transact(
        lambda connection: enrol(
            connection, "ip", type=FLOATING_IP, pool=FLOATING_IP_POOL, reference="net/203.0.113.201"
        )
    )
    past.hold(past.numbers[0], slots=3, demand={"VCPU": 2})
    past.hold(address, pool=FLOATING_IP_POOL, part=1)
    past.change(end(), hour(1.5))
    part, other = past.lease.reservations
    owner = (past.lease.project_id, past.lease.user_id)
    window = hours(1, 1.5)
    wanted = [
        Segment(
            past.lease.id, part.id, *owner, part.resource_type, past.numbers[0], "a.example", 3, {"VCPU": 2}, window,
            "granted", "deleted", "A test €",
        ),
        Segment(
            past.lease.id, other.id, *owner, other.resource_type, address, "net/203.0.113.201", 1, None, window,
            "granted", "deleted", "A test €",
        ),
    ]  # fmt: skip
    assert past.found(hour(9)) == wanted
    assert [each.label for each in wanted] == ["a.example", "203.0.113.201"]


def test_time_never_goes_back_within_the_record(past: Past) -> None:
    past.hold(past.numbers[0])
    past.change(move(hours(1, 3)), hour(1.5))
    # Another process, whose clock is a little behind.
    past.change(end(), hour(1.5) - timedelta(seconds=2))
    assert past.closed() == [(hours(1, 1.5), "granted", "extended")]
    with past.db.reading() as connection:
        assert past.allocations(connection)[0].window == hours(1, 1.5)


# ---------------------------------------------------------------- the law


@dataclass
class Observer:
    """Looks at the allocations at every change, and adds up what is held between two looks, in plain SQL."""

    db: Database
    rows: Sequence[Any] = ()
    then: int = 0
    steps: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def look(self, now: datetime) -> None:
        moment = to_seconds(now)
        for row in self.rows:
            start, stop = max(row.starts_at, self.then), min(row.ends_at, moment)
            if row.left_at is None and start < stop:
                self.steps[row.reservation_id, row.resource_number, row.slots, start] += 1
                self.steps[row.reservation_id, row.resource_number, row.slots, stop] -= 1
        with self.db.reading() as connection:
            self.rows = connection.execute(text("SELECT * FROM allocations")).all()
        self.then = moment


def steps_of(found: Sequence[Segment]) -> Counter[tuple[Any, ...]]:
    """Return where the number of held allocations of a reservation rises and falls; equal for equal times."""
    steps: Counter[tuple[Any, ...]] = Counter()
    for each in found:
        for moment, change in zip(each.window.seconds, (1, -1), strict=True):
            steps[each.reservation_id, each.resource_number, each.slots, moment] += change
    return steps


def differences(one: Counter[tuple[Any, ...]], other: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    return {key: one[key] - other[key] for key in one.keys() | other.keys() if one[key] != other[key]}


@pytest.mark.parametrize("seed", range(3))
def test_the_segments_are_what_was_held_at_each_moment(past: Past, seed: int) -> None:
    random, observer, now = Random(seed), Observer(past.db), NOW  # noqa: S311 - not a secret
    for _step in range(40):
        observer.look(now)
        _change_at_random(past, random, now)
        observer.look(now)
        now += timedelta(minutes=random.randrange(0, 40), seconds=random.randrange(2), milliseconds=random.randrange(9))
    observer.look(now)
    found = past.found(now)
    assert differences(steps_of(found), observer.steps) == {}
    assert len(found) >= 10


def _change_at_random(past: Past, random: Random, now: datetime) -> None:
    """Do with the allocations what use cases may do with them at this moment."""
    with past.db.reading() as connection:
        known = [each for each in past.allocations(connection) if each.released_at is None]
    chosen = [each for each in known if random.random() < 0.3]
    later = now + timedelta(minutes=random.randrange(0, 120))
    kind = random.choice(["insert", "insert", "insert", "move", "move", "move", "end", "leave"])
    if kind == "insert" or not chosen:
        window = Window(later, later + timedelta(minutes=random.randrange(1, 200)))
        pick = Pick(random.choice(past.numbers), random.randrange(1, 3), {"VCPU": 1})
        grants = [Grant(HOST_POOL, 1, past.lease.id, part.id, window, pick) for part in past.lease.reservations]
        past.db.transact(lambda connection: insert_allocations(connection, grants, Cause.AMENDED))
    elif kind == "move":
        # A use case moves those of one old window together; a start that has passed stays.
        same = [each for each in chosen if each.window == chosen[0].window]
        start = chosen[0].window.start if random.random() < 0.7 else later
        window = Window(start, max(start, later))
        past.change(move(window), now, [each.id for each in same])
    elif kind == "end":
        past.change(end(released=random.random() < 0.5), now, [each.id for each in chosen])
    else:
        past.change(leave, now, [each.id for each in chosen if each.left_at is None])


# ---------------------------------------------------------------- what older code and old rows hold


def by_older_code(past: Past, **changes: Any) -> None:
    """Change allocations as a process does that does not know the record."""
    values = {"recorded_until": None, "start_cause": None, **changes}
    past.db.transact(lambda connection: connection.execute(update(allocations).values(**values)))


@pytest.mark.parametrize(
    ("changes", "held", "cause"),
    [
        pytest.param({}, (1, 2), "ended", id="over and not released"),
        pytest.param({"released_at": hour(3)}, (1, 2), None, id="released: the cause is unknown"),
        pytest.param({"ends_at": to_seconds(hour(1.5)), "released_at": hour(3)}, (1, 1.5), None, id="ended early"),
        pytest.param({"left_at": hour(1.2)}, (1, 1.2), "healed", id="vacated"),
    ],
)
def test_what_was_never_closed_is_in_the_record_and_survives_a_purge(
    past: Past, changes: dict[str, Any], held: tuple[float, float], cause: str | None
) -> None:
    past.hold(past.numbers[0])
    by_older_code(past, **changes)
    wanted = [(hours(*held), None, cause)]
    read = [(each.window, each.start_cause, each.end_cause) for each in past.found(hour(4))]
    assert read == wanted
    assert past.closed() == []
    past.db.transact(lambda connection: keep_segments(connection, [past.lease.id], hour(4)))
    assert past.closed() == wanted


def test_a_change_after_one_by_older_code_loses_nothing(past: Past) -> None:
    past.hold(past.numbers[0])
    by_older_code(past, left_at=hour(1.2))
    past.change(end(), hour(1.5))
    assert [each.window for each in past.found(hour(9))] == [hours(1, 1.2)]


# ---------------------------------------------------------------- questions


def test_a_question_selects_by_lease_project_resource_and_time(past: Past) -> None:
    other = past.db.transact(lambda connection: write(connection, project_id="alt", window=hours(3, 4)))
    first, second = past.numbers
    past.hold(first, second)
    past.db.transact(lambda connection: hold(connection, other, first))
    past.change(move(hours(1, 2.5)), hour(1.5))

    def windows(now: float = 9, **asked: Any) -> list[tuple[str, Window, bool]]:
        return [(each.label, each.window, each.open) for each in past.found(hour(now), **asked)]

    early = [(name, hours(1, 1.5), False) for name in ("a.example", "b.example")]
    rest = [(name, hours(1.5, 2.5), False) for name in ("a.example", "b.example")]
    late = [("a.example", hours(3, 4), False)]
    assert windows() == [*early, *rest, *late]
    assert windows(lease_id=past.lease.id) == [*early, *rest]
    assert windows(project_id="alt") == late
    assert windows(project_id="DEMO") == []
    assert windows(resource="b.example") == [early[1], rest[1]]
    assert windows(resource="example") == windows(resource="%") == []
    assert windows(since=hour(1.5)) == [*rest, *late]
    assert windows(until=hour(1.5)) == early
    assert windows(since=hour(2.5), until=hour(3)) == []
    assert windows(3.5, since=hour(2.5)) == [("a.example", hours(3, 3.5), True)]


def test_many_segments_are_read_one_chunk_after_the_other(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.db.past.record.CHUNK", 2)
    past.hold(*[past.numbers[0]] * 5, demand={"VCPU": 1})
    past.change(end(), hour(1.5))
    past.hold(*[past.numbers[1]] * 5, demand={"VCPU": 1})
    assert [each.window for each in past.found(hour(9))] == [*[hours(1, 1.5)] * 5, *[hours(1, 2)] * 5]


def test_a_segment_may_name_what_is_gone(past: Past) -> None:
    row = {
        "lease_id": "gone", "reservation_id": "gone", "project_id": "demo", "user_id": "alice", "resource_type": "x",
        "resource_number": 999, "resource": "gone", "slots": 1, "starts_at": 0, "ends_at": 1, "written_at": NOW,
    }  # fmt: skip
    past.db.transact(lambda connection: connection.execute(insert(segments), row))
    assert [each.lease_id for each in past.found(NOW)] == ["gone"]
