"""Feature F4: storage hosts sleep while the block storage says that they keep nothing, and volumes wake others."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import resources
from leasehold.features.power.machines import set_machine, wake_machine
from leasehold.features.power.store import sleeps
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource
from leasehold.leasing.resources.candidates import candidates_of
from leasehold.leasing.resources.enrol import enrol
from leasehold.manager.monitor import check_once
from leasehold.model.errors import ConflictError, DuplicateError, InUseError, InvalidInputError, NotFoundError
from leasehold.model.resource import HOST, STORAGE, Health
from leasehold.resource_types.storage.driver import SLEEPS
from tests.factory import AT_ONCE, at_call, dies_at, hosts, make_service, run_manager
from tests.features.power.night import BOOTS, CLASS, USUAL, Night, checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.resource import Resource

pytestmark = pytest.mark.slow

ALL = ("stor-01", "stor-02", "stor-03")
FIRST = "stor-01@hdd"
"""The service that gets each volume while it is open."""


@dataclass
class StorageNight(Night):
    """Storage hosts whose machines can be switched, and those that use them."""

    idents: dict[str, str] = field(default_factory=dict)

    def enrol_storage(self, *names: str) -> None:
        service = self.world.service
        for name in names:
            self.idents[name] = enrol(service, STORAGE, {"name": name}).id
            set_machine(service, self.idents[name], CLASS.name, name, kept_on=False)
            self.world.cloud.machines.set(name, seconds=BOOTS)

    def storage(self, name: str) -> Resource:
        return queries.get_resource(self.world.service, STORAGE, self.idents[name])

    def closed(self) -> set[str]:
        """Return the names of the services that are disabled by us."""
        return {each.name for each in self.world.cloud.storage.list() if each.disabled_reason == SLEEPS}

    def wake(self, name: str) -> None:
        wake_machine(self.world.service, self.idents[name])

    def runs(self, name: str) -> bool:
        return self.world.cloud.machines.is_on(name)


@contextmanager
def storage_night(where: Path, *names: str, compute: tuple[str, ...] = (), **settings: Any) -> Iterator[StorageNight]:
    with make_service(where, settings=AT_ONCE.having(replace(USUAL, **settings)), hosts=compute) as world:
        made = StorageNight(world)
        made.enrol(*compute)
        made.enrol_storage(*names)
        yield made


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StorageNight]:
    with storage_night(tmp_path, *ALL) as made:
        yield made


def test_a_host_without_volumes_sleeps_with_all_its_services(site: StorageNight) -> None:
    site.run_for(minutes=30)
    assert site.stages() == dict.fromkeys(ALL, "asleep")
    assert not any(map(site.runs, ALL))
    assert site.closed() == {each.name for each in site.world.cloud.storage.list()}
    site.run_for(hours=2)
    assert {site.storage(each).health for each in ALL} == {Health.ASLEEP}
    checked(site)
    site.wake("stor-01")
    site.run_for(minutes=5)
    assert site.stages()["stor-01"] == "on"
    assert site.closed() == {"stor-02@hdd", "stor-03@hdd"}
    check_once(site.world.service)
    assert (site.storage("stor-01").health, site.storage("stor-01").reservable) == (Health.HEALTHY, True)
    checked(site)


def test_a_host_with_a_volume_on_any_of_its_services_is_never_closed(site: StorageNight) -> None:
    storage = site.world.cloud.storage
    volume, _ = storage.create_volume()
    storage.change_volume(volume, service="stor-01@ssd")
    for _ in range(60):
        site.run_for(minutes=1)
        assert site.closed().isdisjoint({FIRST, "stor-01@ssd"})
    assert site.stages() == {"stor-01": "on", "stor-02": "asleep", "stor-03": "asleep"}
    storage.delete_volume(volume)
    site.run_for(minutes=15)
    assert site.stages()["stor-01"] == "on"
    site.run_for(minutes=15)
    assert site.stages()["stor-01"] == "asleep"


def test_another_spare_wakes_up_when_volumes_come_to_the_first(tmp_path: Path) -> None:
    with storage_night(tmp_path, *ALL, spares=1) as site:
        storage = site.world.cloud.storage
        site.run_for(minutes=30)
        assert site.stages() == {"stor-01": "on", "stor-02": "asleep", "stor-03": "asleep"}
        volume, service = storage.create_volume()
        assert service == FIRST
        site.run_for(minutes=5)
        assert site.stages() == {"stor-01": "on", "stor-02": "on", "stor-03": "asleep"}
        storage.delete_volume(volume)
        site.run_for(hours=1)
        assert sorted(site.stages().values()) == ["asleep", "asleep", "on"]
        checked(site)


def test_spares_of_compute_and_storage_hosts_are_counted_apart(tmp_path: Path) -> None:
    compute = ("cmp-01", "cmp-02")
    with storage_night(tmp_path, *ALL, compute=compute, spares=1) as site:
        site.run_for(minutes=30)
        assert sorted(site.stages()[each] for each in compute) == ["asleep", "on"]
        assert sorted(site.stages()[each] for each in ALL) == ["asleep", "asleep", "on"]
        site.world.lease(hosts(), start=1, end=2)
        site.run_until(site.world.hour(1.2))
        assert [site.stages()[each] for each in compute] == ["on", "on"]
        assert sorted(site.stages()[each] for each in ALL) == ["asleep", "asleep", "on"]


def test_no_more_machines_are_under_way_than_are_allowed_of_all_types(tmp_path: Path) -> None:
    with storage_night(tmp_path, *ALL, compute=("cmp-01", "cmp-02"), at_once=2) as site:
        most = 0
        for _ in range(60 * 6):
            site.run_for(seconds=10)
            most = max(most, sum(each in ("closing", "stopping", "waking") for each in site.stages().values()))
        assert most == 2
        assert set(site.stages().values()) == {"asleep"}


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_volume_that_comes_while_a_host_is_closed_keeps_it_on(site: StorageNight, call: int) -> None:
    """Before the service is disabled, or after that, when its place was chosen before."""
    world, made = site.world, list[int]()
    storage = world.cloud.storage

    def come() -> None:
        made.append(storage.create_volume(waits=True)[0])
        storage.change_volume(made[0], service=FIRST)

    while not made:
        world.clock.advance(seconds=10)
        # The steps of some machines run at the same time: one of the first calls is that of the first host.
        at_call(world, call, site.step, come, "storage.disable")
    for _ in range(60):
        site.run_for(seconds=30)
        assert site.runs("stor-01")
    assert site.stages()["stor-01"] == "on"
    assert site.closed().isdisjoint({FIRST, "stor-01@ssd"})
    checked(site)


def test_nothing_sleeps_while_a_volume_has_no_place_and_one_that_never_gets_one_is_ignored(site: StorageNight) -> None:
    storage = site.world.cloud.storage
    site.run_for(minutes=18)
    volume, _ = storage.create_volume(waits=True)
    for _ in range(50):
        site.run_for(minutes=1)
        assert all(map(site.runs, ALL))
    # It was called off after five minutes, each time.
    assert not site.closed()
    assert set(site.stages().values()) == {"on"}
    site.run_for(minutes=40)
    assert set(site.stages().values()) == {"asleep"}
    storage.delete_volume(volume)


def test_nothing_falls_asleep_while_a_volume_moves_nobody_knows_where(site: StorageNight) -> None:
    storage = site.world.cloud.storage
    volume, _ = storage.create_volume()
    storage.change_volume(volume, moves=True)
    for _ in range(120):
        site.run_for(minutes=1)
        assert all(map(site.runs, ALL))
    storage.change_volume(volume, moves=False, service="stor-02@hdd")
    site.run_for(hours=1)
    assert site.stages() == {"stor-01": "asleep", "stor-02": "on", "stor-03": "asleep"}


def test_a_block_storage_that_hangs_keeps_no_host_asleep_that_a_lease_needs(tmp_path: Path) -> None:
    with storage_night(tmp_path, *ALL, compute=("cmp-01",)) as site:
        world, slept = site.world, list[float]()
        lease = world.lease(hosts(), start=3, end=4)
        site.run_for(minutes=30)
        assert set(site.stages().values()) == {"asleep"}
        world.cloud.faults.set(Fault("storage.*", latency_ms=60_000))
        world.cloud.faults._sleep = slept.append
        # But for the health check, which nothing waits for.
        for _ in range(6 * 60 * 3):
            world.clock.advance(seconds=10)
            site.rounds.run()
            run_manager(world)
        assert world.status(lease) == "ACTIVE"
        # A round waits for it ten seconds at most, and not more often than once a minute.
        assert max(slept) <= 10
        assert len(slept) <= 3 * 60


def test_a_volume_on_a_host_that_sleeps_all_the_same_wakes_it(site: StorageNight) -> None:
    storage = site.world.cloud.storage
    site.run_for(minutes=30)
    volume, _ = storage.create_volume(waits=True)
    storage.change_volume(volume, service="stor-02@hdd")
    site.run_for(minutes=5)
    assert site.stages() == {"stor-01": "asleep", "stor-02": "on", "stor-03": "asleep"}


@pytest.mark.parametrize("asleep", [False, True])
def test_a_service_that_was_forgotten(site: StorageNight, asleep: bool) -> None:  # noqa: FBT001 - a case
    world = site.world
    if asleep:
        site.run_for(minutes=30)
    world.cloud.storage.forget("stor-02@hdd")
    site.run_for(minutes=60)
    assert site.runs("stor-02") is not asleep
    assert site.stages()["stor-02"] == ("asleep" if asleep else "on")
    if asleep:
        # The service registers anew when it starts.
        site.wake("stor-02")
        world.cloud.storage.add("stor-02@hdd")
        site.run_for(minutes=5)
        assert site.stages()["stor-02"] == "on"
        assert "stor-02@hdd" not in site.closed()


@pytest.mark.parametrize("verb", ["list", "disable", "enable", "held", "unplaced"])
@pytest.mark.parametrize("error", ["before", "after", "half"])
def test_a_call_that_is_refused_once_is_made_again(site: StorageNight, verb: str, error: Any) -> None:
    faults = site.world.cloud.faults
    faults.set(Fault(f"storage.{verb}", error=error, remaining=3))
    site.run_for(minutes=50)
    assert set(site.stages().values()) == {"asleep"}
    faults.set(Fault(f"storage.{verb}", error=error, remaining=3))
    for each in ALL:
        site.wake(each)
    site.run_for(minutes=6)
    assert set(site.stages().values()) == {"on"}
    faults.clear()
    site.run_for(minutes=1)
    assert not site.closed()
    checked(site)


@pytest.mark.parametrize("number", range(1, 9))
def test_whoever_dies_at_any_call_the_next_one_goes_on(tmp_path: Path, number: int) -> None:
    with storage_night(tmp_path, "stor-01") as site:
        world, left = site.world, number
        site.run_for(minutes=19, seconds=50)
        for _ in range(6 * 20):
            world.clock.advance(seconds=10)
            if left and dies_at(world, left, site.rounds.run, "storage.*"):
                left = 0
            site.step()
        assert site.stages() == {"stor-01": "asleep"}
        site.wake("stor-01")
        left = number
        for _ in range(6 * 6):
            world.clock.advance(seconds=10)
            if left and dies_at(world, left, site.rounds.run, "storage.*"):
                left = 0
            site.step()
        assert (site.stages(), site.closed()) == ({"stor-01": "on"}, set())
        checked(site)


def test_a_database_that_went_back_wakes_what_is_closed(site: StorageNight) -> None:
    world = site.world
    site.run_for(minutes=30)
    world.execute(sleeps.delete())
    for each in ALL:
        world.execute(
            _forgotten(site.storage(each).number),
        )
    site.run_for(minutes=40)
    assert not site.closed() or set(site.stages().values()) == {"asleep"}
    for each in ALL:
        assert site.storage(each).health in (Health.HEALTHY, Health.ASLEEP)
    checked(site)


def _forgotten(number: int) -> Any:
    healthy = {"health": Health.HEALTHY, "waking_seconds": None, "waking_since": None}
    return update(resources).where(resources.c.number == number).values(**healthy)


def test_a_host_that_does_not_wake_up_has_failed_and_another_one_stands_by(tmp_path: Path) -> None:
    with storage_night(tmp_path, *ALL, spares=1) as site:
        world = site.world
        site.run_for(minutes=30)
        world.cloud.machines.set("stor-02", stuck=True)
        world.cloud.storage.create_volume()
        site.run_for(minutes=40)
        assert site.stages() == {"stor-01": "on", "stor-02": "failed", "stor-03": "on"}
        assert site.storage("stor-02").health is Health.FAILED


def test_nothing_of_it_is_leased(site: StorageNight) -> None:
    with pytest.raises(InvalidInputError, match="'storage:host' is not leased") as refused:
        site.world.lease({"resource_type": STORAGE, "amount": 1})
    assert (refused.value.code, refused.value.field) == ("leasehold.input.invalid", "reservations[0].resource_type")
    kind = site.world.service.types.get(STORAGE).kind
    with pytest.raises(InvalidInputError, match="Nothing can be reserved"):
        kind.parse({})
    assert STORAGE not in site.world.service.types.schemas()


def test_only_a_whole_machine_that_does_nothing_else_is_enrolled(tmp_path: Path) -> None:
    with storage_night(tmp_path, "stor-01") as site:
        service, storage = site.world.service, site.world.cloud.storage
        storage.add("cmp-09@lvm")
        candidates = [each.found.reference for each in candidates_of(service, service.types.get(STORAGE))]
        assert candidates == ["stor-02", "stor-03"]
        with pytest.raises(NotFoundError):
            enrol(service, STORAGE, {"name": "stor-99"})
        with pytest.raises(InvalidInputError, match="Name the machine, stor-02"):
            enrol(service, STORAGE, {"name": "stor-02@hdd"})
        with pytest.raises(InUseError, match="cmp-09 has a compute service"):
            enrol(service, STORAGE, {"name": "cmp-09"})
        with pytest.raises(DuplicateError):
            enrol(service, STORAGE, {"name": "stor-01"})


def test_no_two_hosts_have_one_machine_whatever_type_they_are_of(tmp_path: Path) -> None:
    with storage_night(tmp_path, "stor-01", compute=("cmp-01",)) as site:
        service = site.world.service
        with pytest.raises(ConflictError, match="stor-01 is switched by this address"):
            set_machine(service, site.world.host("cmp-01").id, CLASS.name, "stor-01", kept_on=False)


def test_a_host_that_is_disabled_or_serves_as_more_stays_on(site: StorageNight) -> None:
    world = site.world
    world.cloud.storage.disable("stor-01@ssd", "a disk is changed")
    site.run_for(hours=1)
    assert site.stages() == {"stor-01": "on", "stor-02": "asleep", "stor-03": "asleep"}
    assert site.storage("stor-01").health is Health.DISABLED
    assert [each.disabled_reason for each in world.cloud.storage.list("stor-01")] == [None, "a disk is changed"]


def test_one_that_is_removed_while_it_sleeps_has_to_be_woken_first(site: StorageNight) -> None:
    service = site.world.service
    site.run_for(minutes=30)
    with pytest.raises(ConflictError):
        resource.remove(service, STORAGE, site.idents["stor-01"])
    site.wake("stor-01")
    site.run_for(minutes=5)
    resource.remove(service, STORAGE, site.idents["stor-01"])
    assert FIRST not in site.closed()
    assert [each.label for each in queries.list_resources(service, HOST)] == []


# ---------------------------------------------------------------- the law

MOVES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["create", "choose", "place", "delete", "wake", "kill", "refuse"]), st.integers(0, 20)
        ),
        st.tuples(st.sampled_from(["pass", "pass"]), st.integers(1, 40)),
    ),
    min_size=4,
    max_size=14,
)


class History:
    """Users make and delete volumes, and the scheduler chooses a place some time before it writes it."""

    def __init__(self, site: StorageNight) -> None:
        self.site, world = site, site.world
        # What users and the scheduler do has no faults.
        self.storage = sandbox(world.engine, clock=world.clock.now, faults_in_force=False).storage
        self.volumes: list[int] = []
        self.chosen: list[tuple[int, str]] = []

    def move(self, what: str, number: int) -> None:
        with suppress(CloudError):
            getattr(self, f"_{what}")(number)
        self.check()

    def check(self) -> None:
        """Check that the machine of each volume runs."""
        for each in ALL:
            assert self.site.runs(each) or not any(self.storage.held(each).values()), each

    def settle(self) -> None:
        self.site.world.cloud.faults.clear()
        self._place(0)
        self._pass(80)
        used = {each for each in ALL if any(self.storage.held(each).values())}
        stages = self.site.stages()
        assert {each for each in ALL if stages[each] == "on"} >= used
        # One stands by, and the others sleep.
        assert sum(each == "asleep" for each in stages.values()) == max(0, len(ALL) - len(used) - 1), stages
        checked(self.site)

    def _create(self, _number: int) -> None:
        self.volumes.append(self.storage.create_volume()[0])

    def _choose(self, number: int) -> None:
        open_ = [each.name for each in self.storage.list() if each.up and each.enabled]
        if open_:
            self.chosen.append((self.storage.create_volume(waits=True)[0], open_[number % len(open_)]))

    def _place(self, _number: int) -> None:
        for volume, service in self.chosen:
            self.storage.change_volume(volume, service=service)
            self.volumes.append(volume)
        self.chosen = []

    def _delete(self, number: int) -> None:
        if self.volumes:
            self.storage.delete_volume(self.volumes.pop(number % len(self.volumes)))

    def _wake(self, number: int) -> None:
        self.site.wake(ALL[number % len(ALL)])

    def _kill(self, number: int) -> None:
        dies_at(self.site.world, 1 + number, self.site.rounds.run, "storage.*")

    def _refuse(self, number: int) -> None:
        error: Any = ("before", "after", "half")[number % 3]
        self.site.world.cloud.faults.set(Fault("storage.*", error=error, remaining=1 + number % 4))

    def _pass(self, number: int) -> None:
        for minute in range(number):
            # The scheduler takes less than an hour from its choice until that is written.
            if minute == 30:
                self._place(0)
            self.site.run_for(minutes=1)
            self.check()
        self._place(0)


@pytest.mark.timeout(900)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES)
def test_no_volume_is_ever_on_a_machine_that_is_off(moves: list[tuple[str, int]]) -> None:
    with (
        TemporaryDirectory() as folder,
        storage_night(Path(folder), *ALL, spares=1, every=timedelta(seconds=30)) as site,
    ):
        history = History(site)
        for what, number in moves:
            history.move(what, number)
        history.settle()
