"""Projects: decisions of one project are serialized, and its use is counted; one answer for each of its keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.db.idempotency import find_key, keep_key
from leasehold.db.project import (
    COUNTED_FOR,
    Allocated,
    allocated_to,
    count_open_leases,
    enter,
    keep_use,
    peak,
    take_use,
)
from leasehold.model.ending import LATEST
from leasehold.model.resource import HOST_POOL
from leasehold.model.states import LeaseStatus
from leasehold.model.use import Use
from leasehold.model.windows import Window, from_seconds
from tests.db.examples import at_once, enrol, hold, hour, ident, write

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.db.store import Database

THREADS, LIMIT = 8, 3
NOW = datetime(2031, 5, 1, tzinfo=UTC)
MOST = Use(*(10**6,) * 5)


def test_of_many_at_once_as_many_go_on_as_the_limit_says(db: Database) -> None:
    """Each transaction sees the previous writes, including the first ones, which create the project's row."""

    def decide(connection: Connection) -> bool:
        enter(connection, "p")
        if count_open_leases(connection, "p") >= LIMIT:
            return False
        write(connection, project_id="p")
        return True

    assert sum(at_once(db.engine, THREADS, lambda own, _: own.transact(decide))) == LIMIT


def test_of_many_that_take_at_once_as_many_get_something_as_the_limit_says(db: Database) -> None:
    def begin(connection: Connection) -> None:
        enter(connection, "p")
        keep_use(connection, "p", Use(), NOW)

    def take(connection: Connection) -> bool:
        return take_use(connection, "p", Use(leases=1), Use(leases=LIMIT), NOW)

    db.transact(begin)
    assert sum(at_once(db.engine, THREADS, lambda own, _: own.transact(take))) == LIMIT


def test_what_was_counted_is_believed_for_a_while_and_what_was_not_never(db: Database) -> None:
    def take(more: Use, later: timedelta = timedelta(0), project: str = "p") -> bool:
        return db.transact(lambda connection: take_use(connection, project, more, MOST, NOW + later))

    assert not take(Use(leases=1))
    db.transact(lambda connection: enter(connection, "p"))
    assert not take(Use(leases=1))
    db.transact(lambda connection: keep_use(connection, "p", Use(1, 2, 3, 4, 5), NOW))
    assert take(Use(1, 1, 1, 1, 1))
    assert not take(Use(), COUNTED_FOR)
    assert not take(Use(), project="q")
    for number in range(5):
        rest = [0] * 5
        rest[number] = 10**6 - number - 2
        assert take(Use(*rest))
        assert not take(Use(*(int(place == number) for place in range(5))))


@pytest.mark.parametrize("status", LeaseStatus)
def test_what_is_over_is_not_counted(db: Database, status: LeaseStatus) -> None:
    db.transact(lambda connection: write(connection, project_id="p", status=status))
    db.transact(lambda connection: write(connection, project_id="q"))
    over = status in (LeaseStatus.TERMINATED, LeaseStatus.DELETING, LeaseStatus.TIMEDOUT)
    assert db.transact(lambda connection: count_open_leases(connection, "p")) == (0 if over else 1)
    assert db.transact(lambda connection: allocated_to(connection, "p", {})) == []


def test_what_is_reserved_for_good_counts_to_the_end_of_its_lease(db: Database) -> None:
    """As a host that may be given back with its servers; what servers of another lease keep for an hour counts."""

    def make(connection: Connection) -> None:
        number, lease = enrol(connection), write(connection, project_id="p")
        hold(connection, lease, number, window=Window(lease.window.start, LATEST))
        hold(connection, lease, number, window=Window(lease.window.start, lease.window.end + timedelta(hours=1)))

    db.transact(make)
    found = db.transact(lambda connection: allocated_to(connection, "p", {HOST_POOL: "hosts"}))
    ends = sorted((from_seconds(each.end), each.use.hosts) for each in found)
    assert ends == [(hour(2), 1), (hour(3), 1)]


def test_the_peak_is_that_of_one_moment_within_the_window() -> None:
    promised = [
        Allocated(0, 10, Use(hosts=1)),
        Allocated(10, 20, Use(hosts=2, vcpus=5)),
        Allocated(15, 30, Use(hosts=4)),
        Allocated(40, 50, Use(hosts=100)),
    ]

    def at(start: int, end: int) -> Use:
        return peak(promised, Window(from_seconds(start), from_seconds(end)))

    assert at(0, 40) == Use(hosts=6, vcpus=5)
    assert at(0, 15) == Use(hosts=2, vcpus=5)
    assert at(20, 45) == Use(hosts=100)
    assert at(30, 40) == Use()


# ---------------------------------------------------------------- idempotency keys

DIGEST = "0" * 64


def keep(db: Database, project: str, key: str) -> str:
    lease_id = ident()
    db.transact(lambda connection: keep_key(connection, project, key, DIGEST, lease_id, NOW))
    return lease_id


def found(db: Database, project: str, key: str) -> tuple[str, str] | None:
    with db.reading() as connection:
        return find_key(connection, project, key)


def test_a_key_can_be_used_once_in_a_project_and_again_in_another(db: Database) -> None:
    assert found(db, "demo", "k") is None
    ids = {project: keep(db, project, "k") for project in ("demo", "alt")}
    assert {project: found(db, project, "k") for project in ids} == {name: (DIGEST, each) for name, each in ids.items()}
    with pytest.raises(IntegrityError):
        keep(db, "demo", "k")


def test_a_key_may_be_as_long_as_a_header_of_four_byte_characters(db: Database) -> None:
    key = "\U0001f511" * 255
    lease_id = keep(db, "p" * 255, key)
    assert found(db, "p" * 255, key) == (DIGEST, lease_id)
