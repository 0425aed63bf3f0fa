"""Conditions on properties are evaluated before the pool is locked, and again if properties changed meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.calendar.properties import ValueColumn
from leasehold.model.errors import InvalidInputError, NotEnoughError, TakesTooLongError
from tests.factory import change_host, floating_ips, hosts, instances, make_service, open_service
from tests.unit.leasing.test_offers import slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.calendar.arrays import Mask
    from leasehold.model.properties import Comparison
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06")
LARGE = '["==", "$size", "large"]'
LATE = '[">", "$hypervisor_hostname", "cmp-01"]'
LATER = '["or", [">", "$hypervisor_hostname", "cmp-02"], ["<", "$size", "aaa"]]'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=HOSTS, addresses=[200, 201]) as made:
        for name in HOSTS:
            change_host(made.service, made.hosts[name].id, {"size": "small" if name == "cmp-01" else "large"})
        made.lease(hosts(1), floating_ips(1), start=500, end=501)
        yield made


@contextmanager
def other_process(world: World) -> Iterator[World]:
    """Yield a second service on the same database; the first one sees its changes only under the lock."""
    other = open_service(str(world.engine.url), clock=world.clock)
    try:
        yield replace(other, hosts=world.hosts)
    finally:
        other.engine.dispose()


@pytest.fixture
def evaluated(world: World, monkeypatch: pytest.MonkeyPatch) -> dict[bool, list[str]]:
    """Record the name of each evaluated comparison; the key tells whether a writing transaction was open."""
    found: dict[bool, list[str]] = {True: [], False: []}
    writing = [False]

    @event.listens_for(world.engine, "before_cursor_execute")
    def begin(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        writing[0] = writing[0] or statement == "BEGIN IMMEDIATE"

    @event.listens_for(world.engine, "commit")
    @event.listens_for(world.engine, "rollback")
    def end(_connection: Any) -> None:
        writing[0] = False

    real = ValueColumn.holds

    def holds(column: ValueColumn, comparison: Comparison) -> Mask:
        found[writing[0]].append(comparison.name)
        return real(column, comparison)

    monkeypatch.setattr(ValueColumn, "holds", holds)
    return found


# ---------------------------------------------------------------- no change before the lock


def test_a_create_evaluates_nothing_under_the_lock(world: World, evaluated: dict[bool, list[str]]) -> None:
    parts = (
        hosts(1, hypervisor_properties=LATE),
        hosts(1, resource_properties=LATER),
        instances(1, resource_properties='[">", "$size", "medium"]'),
        floating_ips(1, required_floatingips=["203.0.113.201"]),
    )
    lease = world.lease(*parts, start=1, end=2)
    assert [set(world.holds(lease, place)) for place in (0, 1)] == [{"cmp-02"}, {"cmp-06"}]
    assert evaluated[True] == []
    assert {"hypervisor_hostname", "size", "floating_network_id", "floating_ip_address"} <= set(evaluated[False])


def test_a_refusal_and_its_offer_evaluate_nothing_under_the_lock(
    world: World, evaluated: dict[bool, list[str]]
) -> None:
    world.lease(hosts(1, hypervisor_properties=LATE), start=1, end=2)
    with pytest.raises(NotEnoughError) as caught:
        world.lease(hosts(2, hypervisor_properties=LATE), hosts(1), start=1, end=2)
    refusal = caught.value.refusal
    assert (refusal.largest, refusal.nearest is not None and refusal.nearest.start) == (1, world.hour(2))
    assert evaluated[True] == []


def test_an_amendment_evaluates_nothing_under_the_lock(world: World, evaluated: dict[bool, list[str]]) -> None:
    lease = world.lease(hosts(1), hosts(1, hypervisor_properties=LATE), start=1, end=2)
    world.amend(lease, end=3)
    world.amend(lease, {"resource_properties": LARGE})
    assert set(world.holds(lease, 0)) | set(world.holds(lease, 1)) == {"cmp-02", "cmp-06"}
    assert evaluated[True] == []
    assert "size" in evaluated[False]


def test_a_new_process_evaluates_nothing_under_the_lock(world: World, evaluated: dict[bool, list[str]]) -> None:
    """The first request loads the calendar, which makes earlier evaluations invalid."""
    fresh = replace(world, service=replace(world.service, calendars=type(world.service.calendars)()))
    assert set(fresh.holds(fresh.lease(hosts(1, resource_properties=LARGE), start=1, end=2))) == {"cmp-02"}
    assert evaluated[True] == []


# ---------------------------------------------------------------- a change before the lock


def test_a_property_that_another_process_changed_counts(world: World, evaluated: dict[bool, list[str]]) -> None:
    with other_process(world) as other:
        change_host(other.service, world.hosts["cmp-01"].id, {"size": "large"})
        change_host(other.service, world.hosts["cmp-02"].id, {"size": "small"})
    lease = world.lease(hosts(2, resource_properties=LARGE), start=1, end=2)
    assert set(world.holds(lease)) == {"cmp-01", "cmp-06"}
    assert evaluated[True] == ["size"]
    world.lease(hosts(1, resource_properties=LARGE), start=3, end=4)
    assert evaluated[True] == ["size"]


def test_a_host_that_another_process_added_counts(world: World) -> None:
    with other_process(world) as other:
        other.enrol("cmp-07", size="large")
    lease = world.lease(hosts(3, resource_properties=LARGE), start=1, end=2)
    assert set(world.holds(lease)) == {"cmp-02", "cmp-06", "cmp-07"}


def test_an_amendment_sees_what_another_process_changed(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    assert set(world.holds(lease)) == {"cmp-01"}
    with other_process(world) as other:
        other.enrol("cmp-07", size="huge")
    world.amend(lease, {"resource_properties": '["==","$size","huge"]'})
    assert set(world.holds(lease)) == {"cmp-07"}


def test_a_property_that_nobody_has_any_more_is_refused_by_name(world: World) -> None:
    with other_process(world) as other:
        for name in HOSTS:
            change_host(other.service, world.hosts[name].id, {"size": None})
    with pytest.raises(InvalidInputError, match=r"\$size") as caught:
        world.lease(hosts(1, resource_properties=LARGE), start=1, end=2)
    assert caught.value.field == "reservations[0].resource_properties"


def test_a_promise_of_another_process_is_no_reason_to_evaluate_anew(
    world: World, evaluated: dict[bool, list[str]]
) -> None:
    with other_process(world) as other:
        other.lease(hosts(1, resource_properties=LARGE), start=1, end=2)
    evaluated[True].clear()
    lease = world.lease(hosts(1, resource_properties=LARGE), start=1, end=2)
    assert set(world.holds(lease)) == {"cmp-06"}
    assert evaluated[True] == []


# ---------------------------------------------------------------- the time limit of a decision


def many(count: int) -> str:
    comparisons = ", ".join(f'["<", "$size", "x{number}"]' for number in range(count))
    return f'["and", {comparisons}]'


def test_conditions_that_take_too_long_are_refused_before_anything_is_locked(
    world: World, evaluated: dict[bool, list[str]]
) -> None:
    hurried = slow(world, decision_seconds=9.5)
    with pytest.raises(TakesTooLongError):
        hurried.lease(hosts(1, resource_properties=many(20)), start=1, end=2)
    assert evaluated[True] == []
    assert hurried.lease(hosts(1, resource_properties=many(5)), start=1, end=2)


def test_conditions_that_are_evaluated_anew_count_for_the_time_of_the_decision(
    world: World, evaluated: dict[bool, list[str]]
) -> None:
    with other_process(world) as other:
        change_host(other.service, world.hosts["cmp-01"].id, {"size": "large"})
    parts = [hosts(1, resource_properties=many(5)), *[hosts(1)] * 2]
    with pytest.raises(TakesTooLongError):
        slow(world, decision_seconds=9.5).lease(*parts, hosts(1, resource_properties=many(3)), start=1, end=2)
    assert evaluated[True]
