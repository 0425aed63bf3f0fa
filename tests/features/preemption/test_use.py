"""Feature K1: projects are told before a lease ends their preemptible servers, and no others come meanwhile."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from leasehold.features.preemption.options import PreemptionSettings
from leasehold.features.preemption.use import warn_preemptibles
from leasehold.leasing.reading.event_log import read_events, sequence_events
from leasehold.model.errors import NotEnoughError
from leasehold.model.event_log import EventFilter, ServerNews
from leasehold.model.resource import HOST
from leasehold.resource_types.displacement import CLOSING
from tests.factory import Clock, hosts, instances, make_service, run_for, run_until
from tests.jobs import job_of
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.ports import Server
    from leasehold.model.event_log import LogEvent
    from tests.factory import World

pytestmark = pytest.mark.slow

GRACE = timedelta(minutes=10)
CMP_01 = '["==", "$hypervisor_hostname", "cmp-01"]'
CMP_02 = '["==", "$hypervisor_hostname", "cmp-02"]'


def with_grace(world: World, grace: timedelta = GRACE, lead: timedelta = timedelta(0), **more: Any) -> World:
    """Return the world with preemptible servers, a grace period, and a lead of hosts."""
    cloud = replace(world.service.settings.cloud, **more)
    features = {PreemptionSettings: PreemptionSettings(grace)}
    leases = replace(world.service.settings.leases, lead_time_by_type={HOST: lead} if lead else {})
    return world.with_settings(cloud=cloud, leases=leases, features=features).with_preemptibles()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a service with two hosts of 8 VCPUs, preemptible servers and a grace period."""
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01", "cmp-02")) as made:
        yield with_grace(made)


def preemptible(world: World, name: str = "spot", flavor: str = "m1.small", project: str = "alt") -> Server:
    return world.cloud.servers.boot(name, project, flavor, preemptible=True)


def fill(world: World, flavor: str = "m1.small") -> dict[str, Server]:
    """Boot preemptible servers until no host takes another; return those of the first two hosts by their host."""
    found: dict[str, Server] = {}
    while (server := preemptible(world, flavor=flavor)).service_host is not None:
        found.setdefault(server.service_host, server)
        world.clock.advance(seconds=1)
    world.cloud.servers.delete(server.id)
    return found


def events(world: World, project: str | None = "alt") -> list[LogEvent]:
    sequence_events(world.service)
    wanted = EventFilter(project, types=tuple(ServerNews))
    return list(read_events(world.service, wanted, None, 1000).events)


def told(world: World) -> list[tuple[str, str]]:
    """Return the type of each event and its server's name, in their order."""
    return [(each.type, each.payload["server_name"]) for each in events(world)]


def closed(world: World) -> set[str]:
    found = world.cloud.aggregates.get(CLOSING)
    return set(found.hosts) if found else set()


def on(world: World, host: str) -> list[Server]:
    return [each for each in world.cloud.servers.on_host(host) if each.preemptible]


def before(world: World, lease_hour: float, minutes: float) -> None:
    """Let the manager work until so many minutes before a start."""
    run_until(world, world.hour(lease_hour) - timedelta(minutes=minutes))


def test_each_server_of_the_hosts_is_told_of_once_and_nothing_else_is_said(world: World) -> None:
    there = fill(world, "m1.large")
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 11)
    assert warn_preemptibles(world.service) == 0
    before(world, 2, 9)
    mine = {each.id for each in on(world, "cmp-01")}
    assert len(mine) == warn_preemptibles(world.service) > 0
    assert warn_preemptibles(world.service) == 0
    found = events(world)
    assert {each.payload["server_id"] for each in found} == mine
    assert {each.type for each in found} == {"server.ends_soon"}
    one = next(each for each in found if each.server_id == there["cmp-01"].id)
    assert one.payload == {
        "server_id": there["cmp-01"].id,
        "server_name": "spot",
        "project_id": "alt",
        "ends_at": world.hour(2).isoformat(),
    }
    assert (one.project_id, one.lease_id, one.resource_id) == ("alt", None, None)
    said = repr([(each.cursor, each.payload) for each in found])
    for secret in (lease.id, lease.project_id, lease.user_id, lease.name, "cmp-01"):
        assert secret not in said
    assert events(world, lease.project_id) == []


def test_the_servers_go_at_the_start_which_waits_for_nothing(world: World) -> None:
    fill(world, "m1.large")
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    run_until(world, world.hour(2) - timedelta(seconds=1))
    assert on(world, "cmp-01")
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert (world.status(lease), on(world, "cmp-01")) == ("ACTIVE", [])
    assert warn_preemptibles(world.service) == 0
    assert {each for each, _ in told(world)} == {"server.ends_soon"}


def test_a_start_that_nobody_was_told_of_waits_no_longer(world: World) -> None:
    fill(world, "m1.large")
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert (world.status(lease), on(world, "cmp-01"), told(world)) == ("ACTIVE", [], [])


def test_no_preemptible_server_comes_to_a_host_in_its_grace_period(world: World) -> None:
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    assert closed(world) == {"cmp-01"}
    fill(world)
    assert not on(world, "cmp-01")
    assert on(world, "cmp-02")
    assert findings(world) == []
    run_until(world, world.hour(2) + timedelta(minutes=1))
    server = world.boot(lease)
    warn_preemptibles(world.service)
    assert (server.service_host, closed(world)) == ("cmp-01", set())
    run_until(world, world.hour(3.1))
    assert preemptible(world).service_host == "cmp-01"


def test_hosts_of_slots_are_closed_too_and_take_the_slots_as_before(world: World) -> None:
    lease = world.lease(instances(2, resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    assert closed(world) == {"cmp-01"}
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert [world.boot(lease, name=name).service_host for name in ("a", "b")] == ["cmp-01"] * 2
    assert findings(world) == []


def test_a_server_may_stay_when_its_lease_is_deleted(world: World) -> None:
    server = preemptible(world)
    assert server.service_host == "cmp-01"
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    world.delete(lease)
    run_for(world, seconds=10)
    warn_preemptibles(world.service)
    assert told(world) == [("server.ends_soon", "spot"), ("server.stays", "spot")]
    assert closed(world) == set()
    warn_preemptibles(world.service)
    world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    warn_preemptibles(world.service)
    assert [each for each, _ in told(world)] == ["server.ends_soon", "server.stays", "server.ends_soon"]


def test_another_moment_is_told_and_another_host_too(world: World) -> None:
    first, second = preemptible(world, "first", "m1.xlarge"), preemptible(world, "second", "m1.xlarge")
    assert (first.service_host, second.service_host) == ("cmp-01", "cmp-02")
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    world.amend(lease, start=2.01)
    warn_preemptibles(world.service)
    assert [each.payload["ends_at"] for each in events(world)] == [
        world.hour(2).isoformat(),
        world.get(lease).window.start.isoformat(),
    ]
    world.amend(lease, {"resource_properties": CMP_02})
    warn_preemptibles(world.service)
    assert told(world)[2:] == [("server.ends_soon", "second"), ("server.stays", "first")]


def test_a_server_that_its_owner_deletes_is_forgotten(world: World) -> None:
    server = preemptible(world)
    world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    world.cloud.servers.delete(server.id)
    warn_preemptibles(world.service)
    assert [each for each, _ in told(world)] == ["server.ends_soon"]


@pytest.mark.parametrize("verb", ["servers.on_host", "servers.with_ids", "flavors.get", "aggregates.get"])
def test_a_cloud_that_does_not_answer_spares_nobody(world: World, verb: str) -> None:
    preemptible(world)
    world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    world.lease(instances(1, resource_properties=CMP_02), start=2, end=3)
    before(world, 2, 9)
    warn_preemptibles(world.service)
    world.break_down(verb)
    warn_preemptibles(world.service)
    world.cloud.faults.clear()
    warn_preemptibles(world.service)
    assert [each for each, _ in told(world)] == ["server.ends_soon"]
    assert closed(world) == {"cmp-01", "cmp-02"}


def test_for_slots_only_those_are_told_of_that_have_to_go(world: World) -> None:
    """Two leases start on the host, of 8 VCPUs each; together they need more of it than each alone."""
    fill(world, "m1.medium")
    names = {each.id for each in on(world, "cmp-01")}
    for start in (2, 2.05):
        world.lease(instances(2, vcpus=2, resource_properties=CMP_01), start=start, end=3)
    before(world, 2, 6)
    warn_preemptibles(world.service)
    found = {each.payload["server_id"]: each.payload["ends_at"] for each in events(world)}
    assert names >= found.keys()
    assert sorted(found.values()).count(world.hour(2).isoformat()) == 2
    assert len(found) == 4
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert names - {each.id for each in on(world, "cmp-01")} == {
        ident for ident, at in found.items() if at == world.hour(2).isoformat()
    }


SIZES = st.lists(st.sampled_from(["m1.small", "m1.medium", "m1.large"]), max_size=12)
LEASES = st.lists(
    st.one_of(
        st.builds(hosts, resource_properties=st.sampled_from([CMP_01, CMP_02])),
        st.builds(instances, st.integers(1, 3), st.integers(1, 3)),
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=SIZES, parts=LEASES)
def test_who_is_told_goes_and_who_is_not_stays(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[str], parts: list[dict[str, Any]]
) -> None:
    """If nothing changes in the grace period, the prediction is exact."""
    where: Path = tmp_path_factory.mktemp("preemption")
    with make_service(where, clock=Clock(), hosts=("cmp-01", "cmp-02")) as plain:
        world = with_grace(plain)
        for number, flavor in enumerate(sizes):
            preemptible(world, f"s{number}", flavor)
            world.clock.advance(seconds=1)
        try:
            world.lease(*parts, start=2, end=3)
        except NotEnoughError:
            # They ask for one host twice.
            reject()
        before(world, 2, 5)
        there = {each.id for host in ("cmp-01", "cmp-02") for each in on(world, host)}
        warn_preemptibles(world.service)
        warned = {each.payload["server_id"] for each in events(world)}
        run_until(world, world.hour(2.1))
        left = {each.id for host in ("cmp-01", "cmp-02") for each in on(world, host)}
        assert there - left == warned
        assert warn_preemptibles(world.service) == 0


def test_one_manager_at_a_time_looks(world: World) -> None:
    preemptible(world)
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    job_of(world.service, "preemption").run_once()
    assert len(told(world)) == 1
    world.delete(lease)
    job_of(world.service, "preemption").run_once()
    assert len(told(world)) == 1
    run_for(world, minutes=1)
    job_of(world.service, "preemption").run_once()
    assert [each for each, _ in told(world)] == ["server.ends_soon", "server.stays"]


@pytest.mark.parametrize("after", [{"grace": timedelta(0)}, {"expect_preemptibles": False}], ids=["none", "unexpected"])
def test_without_a_grace_period_hosts_that_were_closed_are_opened(world: World, after: dict[str, Any]) -> None:
    world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 9)
    job_of(world.service, "preemption").run_once()
    assert closed(world) == {"cmp-01"}
    plain = with_grace(world, **after)
    watcher = job_of(plain.service, "preemption")
    plain.break_down("aggregates.get")
    watcher.run_once()
    plain.cloud.faults.clear()
    watcher.run_once()
    assert plain.cloud.aggregates.get(CLOSING) is None
    plain.break_down("aggregates.get")
    watcher.run_once()
    assert told(world) == []


# ------------------------------------------------------------ the lead of a start

LEAD = timedelta(minutes=10)


@pytest.fixture
def leading(world: World) -> World:
    """Return the world with a lead of ten minutes, no grace period, and servers that take eight minutes to go."""
    world = with_grace(world, timedelta(0), lead=LEAD)
    world.cloud.servers.take_to("delete", 480)
    return world


@pytest.mark.parametrize("wanted", [hosts(resource_properties=CMP_01), instances(2, resource_properties=CMP_01)])
def test_what_has_to_go_is_ended_so_early_that_the_lease_is_ready_at_its_start(
    leading: World, wanted: dict[str, Any]
) -> None:
    fill(leading, "m1.large")
    lease = leading.lease(wanted, start=2, end=3)
    before(leading, 2, 11)
    assert {each.status for each in on(leading, "cmp-01")} == {"ACTIVE"}
    before(leading, 2, 10)
    doomed = [each for each in on(leading, "cmp-01") if each.status == "DELETING"]
    assert doomed
    assert {each.status for each in on(leading, "cmp-02")} == {"ACTIVE"}
    run_until(leading, leading.hour(2))
    assert leading.status(lease) == "ACTIVE"
    assert told(leading) == []
    assert findings(leading) == []


def test_without_a_lead_the_lease_waits_for_the_servers(leading: World) -> None:
    world = with_grace(leading, timedelta(0))
    fill(world, "m1.large")
    lease = world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    run_until(world, world.hour(2))
    assert world.status(lease) == "STARTING"


def test_the_grace_period_is_over_when_the_work_of_the_start_begins(leading: World) -> None:
    world = with_grace(leading, GRACE, lead=LEAD)
    fill(world, "m1.large")
    world.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    before(world, 2, 19)
    warn_preemptibles(world.service)
    assert {each.payload["ends_at"] for each in events(world)} == {(world.hour(2) - LEAD).isoformat()}
    assert {each.status for each in on(world, "cmp-01")} == {"ACTIVE"}
    before(world, 2, 10)
    warn_preemptibles(world.service)
    assert {each.status for each in on(world, "cmp-01")} == {"DELETING"}
    before(world, 2, 1)
    warn_preemptibles(world.service)
    assert {each for each, _ in told(world)} == {"server.ends_soon"}


def test_a_server_that_cannot_be_ended_at_once_is_tried_again_within_the_lead(leading: World) -> None:
    leading.cloud.servers.take_to("delete", 0)
    fill(leading, "m1.large")
    lease = leading.lease(hosts(resource_properties=CMP_01), start=2, end=3)
    leading.break_down("servers.delete")
    before(leading, 2, 5)
    assert (leading.status(lease), bool(on(leading, "cmp-01"))) == ("STARTING", True)
    leading.cloud.faults.clear()
    run_until(leading, leading.hour(2))
    assert (leading.status(lease), on(leading, "cmp-01")) == ("ACTIVE", [])


@pytest.mark.parametrize(("minutes", "moves"), [(16, True), (14, False)])
def test_a_lease_whose_start_is_prepared_stays_on_its_host(
    leading: World,
    minutes: float,
    moves: bool,  # noqa: FBT001 - a case
) -> None:
    """Late binding leaves alone the leases of which the work of the start has begun, or is about to."""
    blocker = leading.lease(hosts(resource_properties=CMP_01), start=1, end=2)
    first = leading.lease(hosts(), start=1, end=2)
    leading.delete(blocker)
    leading.lease(hosts(resource_properties=CMP_01), start=2.5, end=3)
    assert set(leading.holds(first)) == {"cmp-02"}
    leading.clock.set(leading.hour(1) - timedelta(minutes=minutes))
    with nullcontext() if moves else pytest.raises(NotEnoughError):
        leading.lease(hosts(), start=1, end=3)
    assert set(leading.holds(first)) == {"cmp-01" if moves else "cmp-02"}
