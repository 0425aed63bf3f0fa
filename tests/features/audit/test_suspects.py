"""The database finds every lease of which the audit has something to say; the oracle looks at all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert

from leasehold.db.leases.lease import insert_lease
from leasehold.db.leases.listed import each_lease
from leasehold.db.tables import tasks
from leasehold.features.audit.agreement import AGREEING
from leasehold.features.audit.database import LATE, of_leases
from leasehold.features.audit.reading import suspects
from leasehold.leasing.steps.lifecycle import next_moment
from leasehold.model.finding import FindingKind
from leasehold.model.lease import Event
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.terms.no_show import NoShow
from leasehold.model.terms.waiting import Waiting
from leasehold.model.windows import Window
from tests.db.examples import NOW, hour, ident, lease
from tests.factory import hosts, run_until

if TYPE_CHECKING:
    from collections.abc import Collection

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

LEASES = 500
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
MOMENTS = (*(NOW + minutes * MINUTE for minutes in (-600, -6, -5, -1, 0, 1, 30, 60, 61, 600)), hour(1), hour(2))


def any_of(dice: Random, some: Collection[Any]) -> Any:
    return dice.choice(sorted(some))


def right(dice: Random) -> Lease:
    """Return a lease of any status, of which all agrees."""
    status = any_of(dice, (*AGREEING, *[LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATED] * 4))
    agreeing, start = AGREEING[status], dice.choice(MOMENTS)
    made = lease(dice.choice((1, 1, 2)), window=Window(start, start + dice.choice((0, 1, 5)) * HOUR), status=status)
    made = replace(made, created_at=dice.choice(MOMENTS)).with_event(
        EventType.START, status=any_of(dice, agreeing.start)
    )
    made = made.with_event(EventType.END, status=any_of(dice, agreeing.end))
    made = made.with_reservations(None, status=any_of(dice, agreeing.parts))
    if dice.random() < 0.3:
        made = made.with_event(EventType.START, time=start - 20 * MINUTE)
    if dice.random() < 0.3:
        made = made.with_event(EventType.BEFORE_END, status=EventStatus.DONE)
    if status is LeaseStatus.IN_PROGRESS:
        tried = Waiting(NOW - HOUR, dice.choice(MOMENTS), HOUR, frozenset(), dice.random() < 0.5, None)
        made = replace(made, waiting=dice.choice((tried, None)))
    if status is LeaseStatus.OFFERED or dice.random() < 0.1:
        made = replace(made, offered_until=dice.choice(MOMENTS))
    return made


def otherwise(dice: Random, made: Lease) -> Lease:
    """Return the lease with one thing otherwise, which may be wrong."""
    some = made.reservations[-1].id
    kind = dice.choice((EventType.START, EventType.END))
    own = Event(ident(), made.id, "own", dice.choice((*MOMENTS, None)), any_of(dice, list(EventStatus)), created_at=NOW)
    return dice.choice(
        (
            lambda: replace(made, degraded=True),
            lambda: replace(made, deleted_at=NOW),
            lambda: replace(made, status=any_of(dice, AGREEING)),
            lambda: made.with_reservations({some}, status=any_of(dice, list(ReservationStatus))),
            lambda: made.with_reservations({some}, status=ReservationStatus.DELETED, dropped=True),
            lambda: made.with_reservations({some}, missing_resources=True),
            lambda: replace(made.with_reservations({some}, resources_changed=True), degraded=True),
            lambda: made.with_reservations({some}, no_show=NoShow(dice.choice((0, 1)) * HOUR)),
            lambda: made.with_event(kind, status=dice.choice((*EventStatus, None))),
            lambda: made.with_event(kind, time=dice.choice((*MOMENTS, None))),
            lambda: replace(made, events=tuple(each for each in made.events if each.type != kind)),
            lambda: replace(made, events=(*made.events, own)),
            lambda: replace(made, events=(*made.events, replace(own, type=kind))),
        )
    )()


def task_of(dice: Random, made: Lease) -> dict[str, Any]:
    """Return the task of a lease, which is mostly due when it should be."""
    due = next_moment(made) if dice.random() < 0.8 else dice.choice((*MOMENTS, None))
    due = due and due + dice.choice((-1, 0, 0, 0, 1)) * timedelta(seconds=1)
    claim_until = dice.choice((None, None, NOW - MINUTE, NOW + MINUTE))
    return {"kind": "lease", "subject": made.id, "due_at": due, "claim_until": claim_until, "attempts": 0}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_in_some_leases_is_what_is_found_in_all(db: Database, seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - the same leases in each run
    made = [right(dice) for _ in range(LEASES)]
    made = [otherwise(dice, each) if dice.random() < 0.5 else each for each in made]
    work = [task_of(dice, each) for each in made if dice.random() < 0.95]

    def write(connection: Any) -> None:
        for each in made:
            insert_lease(connection, each)
        connection.execute(insert(tasks), [{**each, "kind": "other"} for each in work[:9]])
        connection.execute(insert(tasks), work)

    db.transact(write)
    with db.reading() as connection:
        everything = [each for offered in (False, True) for each in each_lease(connection, None, offered=offered)]
        everything.sort(key=attrgetter("created_at", "id"))
        expected = list(of_leases(connection, iter(everything), NOW))
        found = list(of_leases(connection, suspects(connection, NOW, NOW - LATE), NOW))
    assert found == expected
    kinds = Counter(each.kind for each in expected)
    assert min(kinds[kind] for kind in (FindingKind.STATUS, FindingKind.WORK, FindingKind.LATE)) > LEASES / 20


def test_leases_that_are_right_are_not_read(db: Database) -> None:
    def write(connection: Any) -> None:
        for number in range(9):
            made = lease(window=Window(hour(number), hour(number + 1)))
            insert_lease(connection, made)
            due = {"due_at": made.window.start, "attempts": 0}
            connection.execute(insert(tasks).values(kind="lease", subject=made.id, **due))

    db.transact(write)
    with db.reading() as connection:
        assert list(suspects(connection, NOW, NOW - LATE)) == []
        late = list(suspects(connection, hour(3.5), hour(3.5) - LATE))
    assert sorted(each.window.start for each in late) == [hour(number) for number in range(4)]


def test_a_lease_at_rest_is_not_read(world: World) -> None:
    world.lease(hosts(1), start=0, end=1)
    world.lease(hosts(1), start=0, end=3)
    world.lease(hosts(1), start=2, end=3)
    for moment, statuses in ((0.5, ["ACTIVE", "ACTIVE", "PENDING"]), (1.5, ["ACTIVE", "PENDING", "TERMINATED"])):
        run_until(world, world.hour(moment))
        with world.service.db.reading() as connection:
            assert sorted(each.status for each in each_lease(connection, None)) == statuses
            assert list(suspects(connection, world.now(), world.now() - LATE)) == []
