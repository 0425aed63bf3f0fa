"""Allocations: what they hold, how they end, and what a calendar loads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.db import allocation
from leasehold.db.allocation import (
    Grant,
    Shift,
    changed_allocations,
    current_allocations,
    each_allocation,
    end_allocations,
    held_on,
    in_use,
    insert_allocations,
    leases_on,
    leave_allocations,
    move_allocations,
    read_demand,
    stored_requests_on,
    unreleased_on,
    write_demand,
)
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.model.allocation import Allocation, Pick
from leasehold.model.resource import FLOATING_IP_POOL, HOST, HOST_POOL
from leasehold.model.segment import Cause
from leasehold.model.windows import Window, to_seconds
from tests.db.examples import NOW, enrol, hold, hour, hours, lease, reservation, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease


class Shelf:
    """Two hosts and a lease from 10 to 11 o'clock; it is 9 o'clock."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.first = db.transact(lambda connection: enrol(connection, "a"))
        self.second = db.transact(lambda connection: enrol(connection, "b"))
        self.lease = db.transact(write)

    def hold(self, *numbers: int, owner: Lease | None = None, **more: Any) -> list[int]:
        return self.db.transact(lambda connection: hold(connection, owner or self.lease, *numbers, **more))

    def end(self, ids: Sequence[int], hours_from_now: float, *, released: bool, generation: int = 2) -> None:
        held, now = [self.held()[key] for key in ids], hour(hours_from_now)
        self.db.transact(
            lambda connection: end_allocations(connection, held, generation, now, Cause.ENDED, released=released)
        )

    def held(self) -> dict[int, Allocation]:
        with self.db.reading() as connection:
            found = find_lease(connection, self.lease.id)
        assert found is not None
        return {held.id: held for part in found.reservations for held in part.allocations}

    def changed(self, since: int, moment: float = 0) -> list[int]:
        with self.db.reading() as connection:
            if since >= 0:
                return [row.id for row in changed_allocations(connection, HOST_POOL, since)[0]]
            chunks = list(current_allocations(connection, HOST_POOL, hour(moment)))
        return [number for chunk in chunks for number in chunk[0]]

    def in_use(self, number: int, moment: float = 0) -> bool:
        with self.db.reading() as connection:
            return in_use(connection, number, hour(moment))


@pytest.fixture
def shelf(db: Database) -> Shelf:
    return Shelf(db)


# ---------------------------------------------------------------- round trip


def test_a_promise_comes_back_as_it_was_made(shelf: Shelf) -> None:
    [key] = shelf.hold(shelf.first, slots=3, demand={"VCPU": 2, "CUSTOM_GPU": 1})
    part = shelf.lease.reservations[0].id
    assert shelf.held() == {
        key: Allocation(key, part, shelf.lease.id, HOST_POOL, shelf.first, hours(1, 2), 3, {"CUSTOM_GPU": 1, "VCPU": 2})
    }


def test_promising_nothing_writes_nothing(shelf: Shelf) -> None:
    assert shelf.hold() == []


def test_equal_demands_are_written_as_equal_texts() -> None:
    assert write_demand({"VCPU": 2, "DISK_GB": 1}) == write_demand({"DISK_GB": 1, "VCPU": 2})
    assert read_demand(write_demand({"VCPU": 2})) == {"VCPU": 2}
    assert read_demand(write_demand(None)) is None


# ---------------------------------------------------------------- what a calendar loads


def test_a_calendar_gets_columns_in_chunks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "CHUNK", 2)
    ids = shelf.hold(*[shelf.first] * 5, slots=2, demand={"VCPU": 1})
    with shelf.db.reading() as connection:
        chunks = list(current_allocations(connection, HOST_POOL, NOW))
    assert [len(chunk[0]) for chunk in chunks] == [2, 2, 1]
    columns = [[value for chunk in chunks for value in chunk[column]] for column in range(8)]
    start, end = hours(1, 2).seconds
    part = shelf.lease.reservations[0].id
    one_each = (shelf.first, start, end, 2, '{"VCPU":1}', part, False)
    assert columns == [ids, *([value] * 5 for value in one_each)]
    assert [type(value) for value in (columns[0][0], columns[7][0])] == [int, bool]


@pytest.mark.parametrize("healed", [False, True])
def test_what_is_written_is_told_as_a_calendar_reads_it(shelf: Shelf, *, healed: bool) -> None:
    """Healing marks what is a substitute, and what stays vacated."""
    part = shelf.lease.reservations[0].id
    more: tuple[dict[str, Any], ...] = ({"substitute": True}, {"left_at": NOW}) if healed else ({}, {})
    picks = (Pick(shelf.first, 1, None), Pick(shelf.second, 3, {"VCPU": 2}))
    mine, window = shelf.lease.id, hours(1, 2)
    grants = [Grant(HOST_POOL, 1, mine, part, window, pick, **marks) for pick, marks in zip(picks, more, strict=True)]

    def grant(connection: Connection) -> list[tuple[Any, ...]]:
        return insert_allocations(connection, grants, Cause.GRANTED)

    written = shelf.db.transact(grant)
    with shelf.db.reading() as connection:
        read, with_resources = changed_allocations(connection, HOST_POOL, 0)
        assert changed_allocations(connection, HOST_POOL, 1) == ([], False)
    assert sorted(written) == [(HOST_POOL, *row) for row in read]
    assert [row[-1] for row in written] == [False, False]
    marked = [(each.substitute, each.left_at, each.given_up) for each in shelf.held().values()]
    assert marked == [(healed, None, False), (False, NOW if healed else None, False)]
    assert with_resources


def test_other_statements_can_be_asked_after_a_load(shelf: Shelf) -> None:
    shelf.hold(shelf.first, shelf.second)
    with shelf.db.reading() as connection:
        assert len(list(current_allocations(connection, HOST_POOL, NOW))) == 1
        assert find_lease(connection, shelf.lease.id) is not None


def test_a_first_load_leaves_out_what_is_over_and_released(shelf: Shelf) -> None:
    over, unreleased, running, ahead = (
        shelf.hold(shelf.first, window=window)[0]
        for window in (hours(-4, -3), hours(-3, -2), hours(-1, 1), hours(3, 4))
    )
    shelf.hold(shelf.first, pool=FLOATING_IP_POOL)
    shelf.end([over], -1, released=True)
    assert shelf.changed(-1) == [unreleased, running, ahead]
    shelf.end([running], 0, released=True)
    assert shelf.changed(-1, moment=-0.5) == [unreleased, running, ahead]
    assert shelf.changed(-1, moment=0) == [unreleased, ahead]


def test_a_later_load_has_all_that_changed_so_that_a_calendar_notices_the_release(shelf: Shelf) -> None:
    over = shelf.hold(shelf.first, window=hours(-4, -3), generation=1)
    shelf.hold(shelf.second, generation=1)
    shelf.hold(shelf.second, generation=2, pool=FLOATING_IP_POOL)
    shelf.end(over, 0, released=True, generation=2)
    assert shelf.changed(1) == over
    assert shelf.changed(2) == []


# ---------------------------------------------------------------- how allocations move and end


def test_moving_gives_another_window_and_a_new_generation(shelf: Shelf) -> None:
    moved, stays = shelf.hold(shelf.first, shelf.second)
    shift = Shift(HOST_POOL, [shelf.held()[moved]], hours(5, 6), Cause.AMENDED)
    shelf.db.transact(lambda connection: move_allocations(connection, shift, 2, NOW, connection))
    assert {key: held.window for key, held in shelf.held().items()} == {moved: hours(5, 6), stays: hours(1, 2)}
    assert shelf.changed(1) == [moved]


@pytest.mark.parametrize(
    ("moment", "left"),
    [
        pytest.param(0, hours(1, 1), id="before its start it becomes empty"),
        pytest.param(1, hours(1, 1), id="at its start it becomes empty"),
        pytest.param(1.5, hours(1, 1.5), id="while it runs it stops"),
        pytest.param(2, hours(1, 2), id="at its end it stays"),
        pytest.param(3, hours(1, 2), id="after its end it stays"),
    ],
)
@pytest.mark.parametrize("released", [True, False])
def test_ending_a_promise(shelf: Shelf, moment: float, left: Window, *, released: bool) -> None:
    ends, stays = shelf.hold(shelf.first, shelf.second)
    shelf.end([ends], moment, released=released)
    held = {key: (each.window, each.released_at) for key, each in shelf.held().items()}
    assert held == {ends: (left, hour(moment) if released else None), stays: (hours(1, 2), None)}
    assert shelf.changed(1) == [ends]


def test_what_is_vacated_and_ended_at_once_is_recorded_once(shelf: Shelf) -> None:
    [key] = shelf.hold(shelf.first)
    held, now = [shelf.held()[key]], hour(1.5)
    shelf.db.transact(
        lambda connection: end_allocations(connection, held, 2, now, Cause.LENT, released=False, left=True)
    )
    after = shelf.held()[key]
    assert (after.window, after.left_at, after.released_at, after.lent) == (hours(1, 1.5), now, None, True)
    assert after.recorded_until == now


# ---------------------------------------------------------------- which allocations are waited for


def test_what_has_begun_and_is_not_released_is_waited_for(shelf: Shelf) -> None:
    over, running, ahead = (
        shelf.hold(shelf.first, window=window)[0] for window in (hours(-3, -2), hours(-1, 1), hours(3, 4))
    )
    elsewhere = shelf.hold(shelf.second, window=hours(-1, 1))

    def waited_for(*numbers: int) -> list[int]:
        with shelf.db.reading() as connection:
            return sorted(held.id for held in unreleased_on(connection, numbers, NOW))

    assert waited_for(shelf.first) == [over, running]
    assert waited_for(shelf.first, shelf.second) == [over, running, *elsewhere]
    assert waited_for() == []
    shelf.end([over], 0, released=True)
    assert waited_for(shelf.first) == [running]
    assert ahead not in waited_for(shelf.first)


@pytest.mark.parametrize(
    ("ends", "moment"),
    [
        pytest.param([(2, True)], 5, id="released at its end"),
        pytest.param([(0, True)], 0, id="released before its start"),
        pytest.param([(1, False), (2, True)], 2, id="ended in the second it began and released later"),
    ],
)
def test_a_resource_is_in_use_from_the_promise_to_the_release(
    shelf: Shelf, ends: Sequence[tuple[float, bool]], moment: float
) -> None:
    assert not shelf.in_use(shelf.first)
    ids = shelf.hold(shelf.first)
    assert shelf.in_use(shelf.first)
    assert not shelf.in_use(shelf.second)
    for at, released in ends:
        assert shelf.in_use(shelf.first, moment)
        shelf.end(ids, at, released=released)
    assert not shelf.in_use(shelf.first, moment)


# ---------------------------------------------------------------- listing allocations


def listed(shelf: Shelf, since: float = 0, **which: str | None) -> dict[int, list[int]]:
    asked: dict[str, Any] = {"lease_id": None, "reservation_id": None, **which}
    with shelf.db.reading() as connection:
        found = dict(each_allocation(connection, [HOST_POOL], since=hour(since), **asked))
    return {number: [held.id for held in promises] for number, promises in found.items()}


def test_promises_are_listed_by_resource_in_the_order_of_their_start(shelf: Shelf) -> None:
    later = shelf.hold(shelf.first, window=hours(5, 6))
    sooner = shelf.hold(shelf.first, shelf.second)
    assert listed(shelf) == {shelf.first: [sooner[0], *later], shelf.second: [sooner[1]]}


def test_listed_promises_show_the_dates_of_their_lease(shelf: Shelf) -> None:
    shelf.hold(shelf.first, window=hours(1.5, 2))
    with shelf.db.reading() as connection:
        found = dict(each_allocation(connection, [HOST_POOL], lease_id=None, reservation_id=None, since=NOW))
    assert [held.window for held in found[shelf.first]] == [hours(1, 2)]


def test_past_promises_are_listed_only_for_a_lease_or_a_reservation(shelf: Shelf) -> None:
    ids = shelf.hold(shelf.first)
    assert listed(shelf, since=2) == {shelf.first: ids}
    assert listed(shelf, since=2.1) == {}
    assert listed(shelf, since=2.1, lease_id=shelf.lease.id) == {shelf.first: ids}
    assert listed(shelf, since=2.1, reservation_id=shelf.lease.reservations[0].id) == {shelf.first: ids}
    assert listed(shelf, lease_id="another") == {}


def test_promises_that_came_to_nothing_and_those_of_deleted_leases_are_not_listed(shelf: Shelf) -> None:
    shelf.end(shelf.hold(shelf.first), 0, released=True)
    assert listed(shelf) == {}
    shelf.hold(shelf.second)
    gone = replace(shelf.lease, deleted_at=NOW)
    shelf.db.transact(lambda connection: save_lease(connection, shelf.lease, gone, NOW))
    assert listed(shelf) == {}


def test_leases_on_resources_are_those_promised_them_in_the_time_asked_for(shelf: Shelf) -> None:
    ids = shelf.hold(shelf.first, shelf.second)

    def on(*numbers: int, now: float = 0, until: float | None = None) -> list[str]:
        with shelf.db.reading() as connection:
            return list(leases_on(connection, numbers, hour(now), None if until is None else hour(until)))

    mine = [shelf.lease.id]
    assert on(shelf.first, shelf.second) == mine
    assert on(shelf.first, until=1) == []
    assert on(shelf.first, until=1.1) == mine
    assert on(shelf.first, now=1.9) == mine
    assert on(shelf.first, now=2) == []
    assert on() == []
    shelf.end(ids, 1.5, released=True)
    assert on(shelf.first) == []


def test_requests_of_current_and_future_reservations_that_hold_a_resource(shelf: Shelf) -> None:
    owner = lease()
    parts = tuple(reservation(owner.id, request={"resource_properties": text}) for text in ("now", "over", "off"))
    written = shelf.db.transact(lambda connection: write(connection, id=owner.id, reservations=parts, events=()))
    for part, window in enumerate((hours(-1, 1), hours(-2, 0), hours(3, 3))):
        shelf.hold(shelf.first, owner=written, part=part, window=window)
    with shelf.db.reading() as connection:
        found = {parts[0].id: (HOST, {"resource_properties": "now"})}
        assert stored_requests_on(connection, [shelf.first, shelf.second], NOW) == found
        assert stored_requests_on(connection, [shelf.second], NOW) == {}


def test_what_is_held_now_or_later_and_not_released_takes_room_vacated_or_not(shelf: Shelf) -> None:
    (now,) = shelf.hold(shelf.first, window=hours(-1, 1))
    (later,) = shelf.hold(shelf.second, window=hours(3, 4))
    shelf.hold(shelf.first, window=hours(-2, 0))
    shelf.end(shelf.hold(shelf.first, window=hours(-1, 2)), 0, released=True)
    shelf.db.transact(lambda connection: leave_allocations(connection, [shelf.held()[now]], 3, NOW, Cause.HEALED))
    with shelf.db.reading() as connection:
        assert [each.id for each in held_on(connection, [shelf.first, shelf.second], NOW)] == [now, later]
        assert held_on(connection, [shelf.first], hour(1)) == []


def test_windows_count_whole_seconds(shelf: Shelf) -> None:
    fraction = timedelta(milliseconds=700)
    [key] = shelf.hold(shelf.first, window=Window(hour(1) + fraction, hour(2) + fraction))
    assert shelf.held()[key].window.seconds == (to_seconds(hour(1)), to_seconds(hour(2)))
