"""Converging is idempotent for every plugin: repeated or interrupted runs leave the same state in the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.settings import Settings
from leasehold.model.caller import Caller
from leasehold.resource_types.driver import Wanted
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.host.driver import HostDriver
from tests.factory import TYPES
from tests.unit.resource_types.pool import OURS
from tests.unit.resource_types.scene import ADDRESSES, FREEPOOL, PROJECT, Scene, holding, holding_address, job

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Engine

    from leasehold.resource_types.driver import Convergence, Holding
    from leasehold.resource_types.registry import ResourceType

PREPARED, ACTIVE, ENDED = Wanted.PREPARED, Wanted.ACTIVE, Wanted.ENDED
HOSTS, INSTANCES, FLAVORS, ADDRESSED = (TYPES.get(name) for name in Settings().plugins)
HOST_REQUEST = HOSTS.kind.parse({"min": 1, "max": 2, "hypervisor_properties": "", "resource_properties": ""})
SIZES = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1}
INSTANCE_REQUEST = INSTANCES.kind.parse({"amount": 3, "affinity": None, "resource_properties": "", **SIZES})
ADDRESS_REQUEST = ADDRESSED.kind.parse({"network_id": seed.NETWORK_ID, "amount": 2})
CLASS = f"CUSTOM_RESERVATION_{OURS.upper().replace('-', '_')}"


def nothing(scene: Scene) -> None:
    """Leave the cloud as it is."""


def preemptible_servers(scene: Scene) -> None:
    for number in (1, 2, 3):
        scene.put_server(f"preemptible-{number}", number, preemptible=True)


def servers_on_the_hosts(scene: Scene) -> None:
    for number in (1, 2):
        scene.put_server(f"ours-{number}", number)


def servers_of_the_flavor(scene: Scene) -> None:
    for number in range(3):
        assert scene.cloud.servers.boot(f"ours-{number}", PROJECT, OURS).status == "ACTIVE"
    assert scene.cloud.servers.boot("one too many", PROJECT, OURS).status == "ERROR"
    scene.put_server("another's", 2)


@dataclass(frozen=True)
class Step:
    """One step in the life of a reservation: a change in the cloud, and the state to converge to after it."""

    wanted: Wanted
    job: Callable[[Scene], Convergence[Any]]
    before: Callable[[Scene], None] = nothing


@dataclass(frozen=True)
class Life:
    """The steps of one kind of reservation from preparation to end, with a failed host or a changed amount."""

    type: ResourceType
    steps: tuple[Step, ...]


def flavor_job(scene: Scene, *held: Any, **more: Any) -> Convergence[Any]:
    raw = {"flavor_id": "g1.large", "amount": 3, "affinity": None}
    request = FlavorDriver().resolve(scene.cloud, Caller("alice", PROJECT), FLAVORS.kind.parse(raw))
    assert request.source is not None
    # Replace the source flavor's requirements, because the hosts of the scene have no GPU.
    plain = replace(request.source, extra_specs={"hw:numa_nodes": "1"}, vcpus=1, memory_mb=512, disk_gb=1)
    return job(FLAVORS, replace(request, source=plain), *held, **more)


def life(
    kind: ResourceType,
    make: Callable[..., Convergence[Any]],
    first: Sequence[Holding],
    then: Sequence[Holding],
    former: Holding | None = None,
    *servers: Callable[[Scene], None],
) -> Life:
    """Return a life that has the holdings `first`, then others; `servers` come before it is active, and before that."""
    left = () if former is None else (former,)
    at_start, later = servers or (nothing, nothing)
    return Life(
        kind,
        (
            Step(PREPARED, lambda scene: make(scene, *first)),
            Step(ACTIVE, lambda scene: make(scene, *first), at_start),
            Step(ACTIVE, lambda scene: make(scene, *then, former=left), later),
            Step(ENDED, lambda scene: make(scene, *then, former=left)),
        ),
    )


def of_type(kind: ResourceType, request: Any) -> Callable[..., Convergence[Any]]:
    return lambda _, *held, **more: job(kind, request, *held, **more)


SLOTS = ([holding(1, 2), holding(2, 1)], [holding(1, 2), holding(3, 1)], holding(2, 1), nothing, servers_of_the_flavor)
THREE = [holding_address(last) for last in ADDRESSES]
LIVES = {
    "physical:host": life(
        HOSTS,
        of_type(HOSTS, HOST_REQUEST),
        [holding(1), holding(2)],
        [holding(1), holding(3)],
        holding(2),
        preemptible_servers,
        servers_on_the_hosts,
    ),
    "virtual:instance": life(INSTANCES, of_type(INSTANCES, INSTANCE_REQUEST), *SLOTS),
    "flavor:instance": life(FLAVORS, flavor_job, *SLOTS),
    "virtual:floatingip": life(ADDRESSED, of_type(ADDRESSED, ADDRESS_REQUEST), THREE[:2], THREE[1:]),
}
lives = pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)


def pictures(scene: Scene, life: Life, converge: Callable[[Convergence[Any], Wanted], None]) -> list[dict[str, Any]]:
    """Run the steps of a life, and return the picture of the cloud after each."""
    seen = []
    for step in life.steps:
        step.before(scene)
        converge(step.job(scene), step.wanted)
        seen.append(scene.picture())
    return seen


# ---------------------------------------------------------------- all plugins


@lives
def test_converging_again_changes_nothing(scene_engine: Engine, life: Life) -> None:
    scene = Scene(scene_engine)

    def twice(each: Convergence[Any], wanted: Wanted) -> None:
        facts = life.type.driver.converge(scene.cloud, each, wanted)
        before = scene.picture()
        assert life.type.driver.converge(scene.cloud, each, wanted) == facts
        assert scene.picture() == before

    pictures(scene, life, twice)


@pytest.mark.slow
@lives
@pytest.mark.parametrize("error", ["before", "after"])
def test_an_attempt_that_breaks_off_anywhere_is_completed_by_the_next(
    scene_engine: Engine, life: Life, error: str
) -> None:
    scene = Scene(scene_engine)
    undisturbed = pictures(scene, life, lambda each, wanted: void(life.type.driver.converge(scene.cloud, each, wanted)))
    for call in count(1):
        hits, seen = disturbed(Scene(scene_engine), life, call, error)
        assert seen == undisturbed, f"call {call}"
        if not hits:
            break
    assert call > 2


def disturbed(scene: Scene, life: Life, call: int, error: str) -> tuple[int, list[dict[str, Any]]]:
    """Run a life with every step interrupted at this call and repeated; return the interruptions and the pictures."""
    hits = 0

    def at_second_try(each: Convergence[Any], wanted: Wanted) -> None:
        nonlocal hits
        hits += scene.interrupted(life.type, each, wanted, call, error)
        life.type.driver.converge(scene.cloud, each, wanted)

    seen = pictures(scene, life, at_second_try)
    return hits, seen


def void(_: object) -> None:
    """Discard a return value."""


@lives
def test_the_end_leaves_nothing_of_the_reservation(scene: Scene, life: Life) -> None:
    before = scene.picture()
    last = pictures(scene, life, lambda each, wanted: void(life.type.driver.converge(scene.cloud, each, wanted)))[-1]
    others = [("another's", "cmp-02")] if life.type in (INSTANCES, FLAVORS) else []
    assert last == {**before, "servers": others}


@lives
def test_the_end_of_what_never_began_is_fine(scene: Scene, life: Life) -> None:
    before = scene.picture()
    life.type.driver.converge(scene.cloud, life.steps[-1].job(scene), ENDED)
    assert scene.picture() == before


@pytest.mark.parametrize(
    ("name", "whose"),
    [("physical:host", "on cmp-01"), ("virtual:instance", "of reservation"), ("flavor:instance", "of reservation")],
)
def test_what_is_held_is_given_back_only_when_its_servers_are_gone(scene: Scene, name: str, whose: str) -> None:
    life, before = LIVES[name], scene.picture()
    _, start, change, _ = life.steps
    each = start.job(scene)
    life.type.driver.converge(scene.cloud, each, ACTIVE)
    scene.put_server("elsewhere", 3)
    change.before(scene)
    scene.cloud.servers.take_to("delete", 30)
    active = scene.picture()
    for _ in range(2):
        with pytest.raises(CloudTransientError, match=f"servers {whose} .*are still being removed"):
            life.type.driver.converge(scene.cloud, each, ENDED)
        assert {**scene.picture(), "flavors": active["flavors"], "claims": frozenset()} == active
    scene.clock.advance(seconds=30)
    life.type.driver.converge(scene.cloud, each, ENDED)
    assert {**scene.picture(), "servers": []} == before
    assert scene.servers() - {"another's"} == {"elsewhere"}


# ---------------------------------------------------------------- hosts


def hosts_job(*numbers: int, former: tuple[int, ...] = ()) -> Convergence[Any]:
    return job(HOSTS, HOST_REQUEST, *map(holding, numbers), former=tuple(map(holding, former)))


def test_hosts_move_from_the_free_pool_when_active_and_back_at_the_end(scene: Scene) -> None:
    facts = HOSTS.driver.converge(scene.cloud, hosts_job(1, 3), PREPARED)
    prepared = scene.cloud.aggregates.get(OURS)
    assert prepared is not None
    assert (prepared.zone, dict(prepared.metadata)) == (f"blazar_{OURS}", {"blazar:owner": PROJECT})
    assert facts == {"aggregate_id": prepared.id}
    assert (scene.members(OURS), scene.members(FREEPOOL)) == (set(), {"cmp-01", "cmp-02", "cmp-03"})
    assert HOSTS.driver.converge(scene.cloud, hosts_job(1, 3), ACTIVE) == facts
    assert (scene.members(OURS), scene.members(FREEPOOL)) == ({"cmp-01", "cmp-03"}, {"cmp-02"})
    HOSTS.driver.converge(scene.cloud, hosts_job(1, 3), ENDED)
    assert (scene.members(OURS), scene.members(FREEPOOL)) == (None, {"cmp-01", "cmp-02", "cmp-03"})


def test_preemptible_servers_make_room_on_the_hosts_at_every_attempt_and_elsewhere_stay(scene: Scene) -> None:
    for _ in range(2):
        preemptible_servers(scene)
        HOSTS.driver.converge(scene.cloud, hosts_job(1, 2), ACTIVE)
        assert scene.servers() == {"preemptible-3"}


def test_a_host_waits_for_other_servers_and_delays_no_other_host(scene: Scene) -> None:
    scene.put_server("another's", 1)
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, hosts_job(1, 2), ACTIVE)
    assert scene.servers() == {"another's"}
    assert (scene.members(OURS), scene.members(FREEPOOL)) == ({"cmp-02"}, {"cmp-01", "cmp-03"})
    scene.cloud.servers.take_to("delete", 30)
    scene.put_server("ours", 2)
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, hosts_job(3, former=(2,)), ACTIVE)
    assert scene.members(OURS) == {"cmp-02", "cmp-03"}
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, hosts_job(2, 3), ENDED)
    assert (scene.members(OURS), scene.members(FREEPOOL)) == ({"cmp-02"}, {"cmp-01", "cmp-03"})


def test_what_can_never_work_is_said_before_what_may_work_later(scene: Scene) -> None:
    scene.put_server("another's", 1)
    scene.cloud.faults.set(Fault("aggregates.remove_host", error="before", permanent=True, remaining=1))
    with pytest.raises(CloudPermanentError):
        HOSTS.driver.converge(scene.cloud, hosts_job(1, 2), ACTIVE)


def test_preemptible_servers_that_go_slowly_make_a_start_wait(scene: Scene) -> None:
    scene.cloud.servers.take_to("delete", 30)
    scene.put_server("preemptible", 1, preemptible=True)
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, hosts_job(1), ACTIVE)
    scene.clock.advance(seconds=30)
    HOSTS.driver.converge(scene.cloud, hosts_job(1), ACTIVE)
    assert scene.members(OURS) == {"cmp-01"}


def test_a_former_host_is_vacated(scene: Scene) -> None:
    HOSTS.driver.converge(scene.cloud, hosts_job(1, 2), ACTIVE)
    servers_on_the_hosts(scene)
    HOSTS.driver.converge(scene.cloud, hosts_job(1, 3, former=(2,)), ACTIVE)
    assert (scene.members(OURS), scene.members(FREEPOOL)) == ({"cmp-01", "cmp-03"}, {"cmp-02"})
    assert scene.servers() == {"ours-1"}


@pytest.mark.parametrize(("action", "made"), [("snapshot", ["reserved_ours-1"]), ("default", []), ("", [])])
def test_snapshots_are_taken_before_the_end_when_asked_for(scene: Scene, action: str, made: list[str]) -> None:
    each = job(HOSTS, replace(HOST_REQUEST, before_end=action), holding(1))
    HostDriver().before_end(scene.cloud, each)
    HOSTS.driver.converge(scene.cloud, each, ACTIVE)
    servers_on_the_hosts(scene)
    for _ in range(2):
        HostDriver().before_end(scene.cloud, each)
    ours, other = (scene.cloud.servers.on_host(name)[0] for name in ("cmp-01", "cmp-02"))
    assert [image.name for image in scene.cloud.images.of_server(ours.id)] == made
    assert not scene.cloud.images.of_server(other.id)


# ---------------------------------------------------------------- instances


def instances_job(*held: Any, former: tuple[Any, ...] = ()) -> Convergence[Any]:
    return job(INSTANCES, INSTANCE_REQUEST, *held, former=former)


def test_a_private_flavor_fits_as_often_as_there_are_slots(scene: Scene) -> None:
    two = holding(1, 2), holding(3, 1)
    facts = INSTANCES.driver.converge(scene.cloud, instances_job(*two), PREPARED)
    flavor, aggregate = scene.cloud.flavors.get(OURS), scene.cloud.aggregates.get(OURS)
    assert flavor is not None
    assert aggregate is not None
    assert facts == {"aggregate_id": aggregate.id}
    assert (flavor.name, flavor.public, flavor.projects) == (f"reservation:{OURS}", False, frozenset())
    assert (flavor.vcpus, flavor.memory_mb, flavor.disk_gb) == (1, 512, 1)
    specs = {"aggregate_instance_extra_specs:reservation": OURS, f"resources:{CLASS}": "1"}
    assert flavor.extra_specs == specs
    assert aggregate.zone is None
    owner = {"reservation": OURS, "filter_tenant_id": PROJECT, "blazar:owner": PROJECT}
    assert (aggregate.metadata, aggregate.hosts) == (owner, frozenset())
    INSTANCES.driver.converge(scene.cloud, instances_job(*two), ACTIVE)
    assert scene.members(OURS) == {"cmp-01", "cmp-03"}
    assert scene.members(FREEPOOL) == {"cmp-01", "cmp-02", "cmp-03"}
    assert [scene.slots(number) for number in (1, 2, 3)] == [2, None, 1]
    booted = [scene.cloud.servers.boot(str(count), PROJECT, OURS) for count in range(4)]
    assert sorted(str(server.service_host) for server in booted) == ["None", "cmp-01", "cmp-01", "cmp-03"]


def test_promises_on_the_same_host_add_up(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, instances_job(holding(1, 2), holding(1, 1)), ACTIVE)
    assert scene.slots(1) == 3


def test_a_changed_size_replaces_the_flavor(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, instances_job(), PREPARED)
    INSTANCES.driver.converge(scene.cloud, job(INSTANCES, replace(INSTANCE_REQUEST, vcpus=4)), PREPARED)
    flavor = scene.cloud.flavors.get(OURS)
    assert flavor is not None
    assert flavor.vcpus == 4


def test_a_former_host_loses_its_slots_and_its_servers_of_the_flavor(scene: Scene) -> None:
    scene.cloud.servers.take_to("delete", 30)
    INSTANCES.driver.converge(scene.cloud, instances_job(holding(1, 2), holding(2, 1)), ACTIVE)
    servers_of_the_flavor(scene)
    healed = instances_job(holding(1, 2), holding(3, 1), former=(holding(2, 1),))
    with pytest.raises(CloudTransientError):
        INSTANCES.driver.converge(scene.cloud, healed, ACTIVE)
    assert scene.members(OURS) == {"cmp-01", "cmp-03"}
    assert [scene.slots(number) for number in (1, 3)] == [2, 1]
    scene.clock.advance(seconds=30)
    INSTANCES.driver.converge(scene.cloud, healed, ACTIVE)
    assert scene.slots(2) is None
    there = [len(scene.cloud.servers.on_host(name)) for name in ("cmp-01", "cmp-02", "cmp-03")]
    assert there == [2, 1, 0]
    assert scene.cloud.servers.boot("replacement", PROJECT, OURS).service_host == "cmp-03"


def test_a_former_host_that_is_held_again_keeps_its_slots(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, instances_job(holding(1, 2)), ACTIVE)
    INSTANCES.driver.converge(scene.cloud, instances_job(holding(1, 1), former=(holding(1, 2),)), ACTIVE)
    assert (scene.slots(1), scene.members(OURS)) == (1, {"cmp-01"})


# ---------------------------------------------------------------- addresses


def test_addresses_are_in_the_project_while_active(scene: Scene) -> None:
    each = job(ADDRESSED, ADDRESS_REQUEST, holding_address(201), holding_address(202))
    ADDRESSED.driver.converge(scene.cloud, each, PREPARED)
    assert not scene.picture()["addresses"]
    ADDRESSED.driver.converge(scene.cloud, each, ACTIVE)
    there = scene.picture()["addresses"]
    assert set(there) == {201, 202}
    assert {found.project_id for found in there.values()} == {PROJECT}
    assert {found.tags for found in there.values()} == {frozenset({"blazar", f"reservation:{OURS}"})}
    ADDRESSED.driver.converge(scene.cloud, each, ENDED)
    assert not scene.picture()["addresses"]


def test_a_start_waits_for_an_address_that_somebody_else_has(scene: Scene) -> None:
    scene.cloud.networks.create_floating_ip(seed.NETWORK_ID, seed.SUBNET_ID, "203.0.113.201", "alt", frozenset())
    each = job(ADDRESSED, ADDRESS_REQUEST, holding_address(201))
    with pytest.raises(CloudTransientError):
        ADDRESSED.driver.converge(scene.cloud, each, ACTIVE)
    ADDRESSED.driver.converge(scene.cloud, each, ENDED)
    assert set(scene.picture()["addresses"]) == {201}


def test_an_address_that_was_created_but_never_tagged_goes_at_the_end(scene: Scene) -> None:
    scene.cloud.networks.create_floating_ip(seed.NETWORK_ID, seed.SUBNET_ID, "203.0.113.201", PROJECT, frozenset())
    ADDRESSED.driver.converge(scene.cloud, job(ADDRESSED, ADDRESS_REQUEST, holding_address(201)), ENDED)
    assert not scene.picture()["addresses"]


def test_a_snapshot_that_fails_prevents_no_other(scene: Scene) -> None:
    request = replace(HOST_REQUEST, before_end="snapshot")
    mine = job(HOSTS, request, holding(1), holding(2))
    HOSTS.driver.converge(scene.cloud, mine, ACTIVE)
    servers_on_the_hosts(scene)
    there = [server for host in ("cmp-01", "cmp-02") for server in scene.cloud.servers.on_host(host)]
    scene.cloud.faults.set(Fault("images.snapshot", error="before", remaining=1))
    with pytest.raises(CloudTransientError):
        HostDriver().before_end(scene.cloud, mine)
    assert sorted(len(scene.cloud.images.of_server(server.id)) for server in there) == [0, 1]
    HostDriver().before_end(scene.cloud, mine)
    assert [len(scene.cloud.images.of_server(server.id)) for server in there] == [1, 1]


def test_an_end_is_tried_again_while_one_host_may_still_be_given_back(scene: Scene) -> None:
    mine = job(HOSTS, HOST_REQUEST, holding(1), holding(2))
    HOSTS.driver.converge(scene.cloud, mine, ACTIVE)
    scene.cloud.faults.set(Fault("aggregates.add_host", error="before", permanent=True, remaining=1))
    scene.cloud.faults.set(Fault("aggregates.add_host", error="before", remaining=1))
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, mine, ENDED)


def test_the_end_of_slots_removes_all_that_can_be_removed(scene: Scene) -> None:
    mine = instances_job(holding(1, 2), holding(2, 1))
    INSTANCES.driver.converge(scene.cloud, mine, ACTIVE)
    scene.cloud.faults.set(Fault("aggregates.delete", error="before", permanent=True, remaining=1))
    with pytest.raises(CloudPermanentError):
        INSTANCES.driver.converge(scene.cloud, mine, ENDED)
    assert scene.cloud.flavors.get(OURS) is None
    assert [scene.slots(number) for number in (1, 2)] == [None, None]
    INSTANCES.driver.converge(scene.cloud, mine, ENDED)
    assert scene.cloud.aggregates.get(OURS) is None
