"""What availability says is free is granted if it is asked for at once, and one more is refused (features G3, G4)."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings
from leasehold.features.availability.use import MOST_STEPS, Availability, AvailabilityQuestion, availability_of
from leasehold.leasing.delete import delete_lease
from leasehold.model.errors import InvalidDateError, InvalidInputError, NotEnoughError
from leasehold.model.windows import from_seconds
from tests.factory import DEMO, flavors, floating_ips, hosts, instances, run_until
from tests.stateful.audit import dump

if TYPE_CHECKING:
    from tests.factory import World

pytestmark = pytest.mark.slow

SEEDS = range(12)
ROUNDS = 6
LAST = 8
"""Leases begin and end within so many hours."""
_FEW, _MANY = 10, 500
"""Questions that are asked at least, and at most until both states were seen."""


def asked_of(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["hosts", "slots", "spread", "flavors", "addresses"])
    if kind == "hosts":
        return hosts(1, 1, resource_properties=rng.choice(["", "", '[">=", "$vcpus", "32"]']))
    if kind == "slots":
        return instances(1, rng.randint(1, 12), affinity=None)
    if kind == "flavors":
        return flavors(1)
    return instances(1, rng.randint(1, 12), affinity=False) if kind == "spread" else floating_ips(1)


def with_amount(reservation: dict[str, Any], amount: int) -> dict[str, Any]:
    keys = ("min", "max") if "min" in reservation else ("amount",)
    return {**reservation, **dict.fromkeys(keys, amount)}


def ask(world: World, reservation: dict[str, Any], start: float, end: float) -> Availability:
    return availability_of(world.service, DEMO, AvailabilityQuestion(reservation, world.hour(start), world.hour(end)))


def check_granted(world: World, reservation: dict[str, Any], most: int, window: tuple[float, float]) -> None:
    """Check that a lease of this amount is granted in a window of hours, and none of one more."""
    start, end = window
    with pytest.raises(NotEnoughError):
        world.lease(with_amount(reservation, most + 1), start=start, end=end)
    if most:
        lease = world.lease(with_amount(reservation, most), start=start, end=end)
        delete_lease(world.service, lease.id)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cleaning", [0, 600])
def test_what_is_free_is_granted_and_no_more(world: World, seed: int, cleaning: int) -> None:
    rng = random.Random(f"{seed} {cleaning}")  # noqa: S311 - a reproducible choice, no secret.
    # Leases that have not started would make room for more than is free.
    settings = LeaseSettings(cleaning_time=timedelta(seconds=cleaning), rebinding_seconds=0.0)
    world = world.with_settings(leases=settings)
    for _ in range(ROUNDS):
        start = rng.randint(0, 4 * LAST - 1) / 4
        part, amount = asked_of(rng), rng.randint(1, 3)
        try:
            world.lease(with_amount(part, amount), start=start, end=start + rng.randint(1, 8) / 4)
        except NotEnoughError:
            continue
    reservation = asked_of(rng)
    found = ask(world, reservation, 0.5, LAST)
    assert found.throughout is not None
    check_granted(world, reservation, found.throughout, (0.5, LAST))
    place = rng.randrange(len(found.moments))
    begin = (from_seconds(found.moments[place]) - world.hour(0)).total_seconds() / 3600
    # A single second, because other resources may be free in the next one.
    check_granted(world, reservation, found.free[place], (begin, begin + 1 / 3600))
    assert found.throughout <= min(found.free)
    assert [found.held_back + one + other for one, other in zip(found.free, found.reserved, strict=True)] == [
        found.total
    ] * len(found.free)


def test_a_question_leaves_no_trace(world: World) -> None:
    world.lease(hosts(2), start=0, end=2)
    run_until(world, world.hour(0.5))
    before = dump(world.engine)
    assert ask(world, {"resource_type": "physical:host"}, 0, 4).free == [3, 5]
    assert dump(world.engine) == before


def test_a_host_of_an_ended_lease_is_reserved_until_it_is_released(world: World) -> None:
    world.lease(hosts(5), start=0, end=1)
    run_until(world, world.hour(0.5))
    world.clock.set(world.hour(1) + timedelta(seconds=20))
    found = ask(world, {"resource_type": "physical:host"}, 1, 2)
    assert (found.free, found.throughout) == ([0, 5], 0)
    assert found.moments == [int((world.hour(1) + timedelta(seconds=each)).timestamp()) for each in (20, 21)]


def test_what_has_passed_is_refused_and_so_is_a_window_without_length(world: World) -> None:
    for start, end in ((-2, -1), (2, 2), (3, 2)):
        with pytest.raises(InvalidDateError) as caught:
            ask(world, {"resource_type": "physical:host"}, start, end)
        assert caught.value.field == "to"


def test_an_answer_that_is_too_long_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_STEPS > 1000
    monkeypatch.setattr("leasehold.features.availability.use.MOST_STEPS", 2)
    world.lease(hosts(1), start=1, end=2)
    with pytest.raises(InvalidInputError) as caught:
        ask(world, {"resource_type": "physical:host"}, 0, 4)
    assert (caught.value.field, "shorter window" in caught.value.message) == ("to", True)


def test_a_question_does_not_wait_for_a_decision_nor_the_other_way_round(world: World) -> None:
    service = world.service
    kept = service.calendars._kept("hosts")
    with kept.lock:
        assert ask(world, {"resource_type": "physical:host"}, 0, 4).free == [5]
    with service.questions._kept("hosts").lock:
        assert world.lease(hosts(1), start=0, end=1)
    assert replace(service).questions is service.questions


def test_an_answer_is_of_one_moment_while_others_change_it(world: World) -> None:
    """Others take three of five hosts by one lease and give them back, and what they leave alone stays leasable."""
    stop = Event()

    def change() -> None:
        while not stop.is_set():
            delete_lease(world.service, world.lease(hosts(1), hosts(2), start=2, end=4).id)

    seen: set[int] = set()
    with ThreadPoolExecutor(1) as others:
        changing = others.submit(change)
        try:
            for number in range(_MANY):
                there = ask(world, hosts(1), 2, 4)
                assert there.free == [there.throughout]
                seen.update(there.free)
                here = ask(world, hosts(1), 0.5, 1)
                assert here.throughout == 5
                check_granted(world, hosts(1), here.throughout, (0.5, 1))
                if number > _FEW and len(seen) > 1:
                    break
        finally:
            stop.set()
        changing.result()
    assert seen == {2, 5}
