"""Instances of an existing flavor: what `test_kinds.py` does not say of every type, above all the flavor's demand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import Flavor
from leasehold.cloud.sandbox.faults import Fault
from leasehold.model.caller import Caller
from leasehold.model.errors import CloudUnavailableError, ConflictError, InvalidInputError, NotFoundError
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind, FlavorRequest, capture
from tests.unit.resource_types.kinds import FLAVORS, flavors
from tests.unit.resource_types.pool import (
    booked,
    from_database,
    host,
    hours,
    placed,
    pool_of,
    refused,
    reservation,
    search,
    steps,
)

if TYPE_CHECKING:
    from tests.unit.resource_types.scene import Scene

KIND = FlavorKind()
DRIVER = FlavorDriver()
ALICE = Caller("alice", "demo")


def request(flavor: str) -> FlavorRequest:
    """Return a request whose flavor has not been looked up."""
    return KIND.parse({"flavor_id": flavor, "amount": 3, "affinity": None})


def resolved(scene: Scene, **fields: Any) -> FlavorRequest:
    """Return the resolved request for instances of a public flavor with these fields."""
    sizes = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10, "public": True}
    scene.cloud.flavors.ensure(Flavor("f", "f", **{**sizes, **fields}))
    return DRIVER.resolve(scene.cloud, ALICE, request("f"))


@pytest.mark.parametrize("affinity", [True, False, "yes", "0"])
def test_any_affinity_is_a_conflict(affinity: object) -> None:
    with pytest.raises(ConflictError) as caught:
        KIND.parse({**FLAVORS.sent, "affinity": affinity})
    assert (caught.value.status, caught.value.field) == (409, "affinity")


# ---------------------------------------------------------------- demands from the flavor


@pytest.mark.parametrize(
    ("fields", "demand"),
    [
        ({"ephemeral_gb": 5, "swap_mb": 4096}, {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 15}),
        ({"extra_specs": {"hw:cpu_policy": "dedicated"}}, {"PCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}),
        (
            {
                "extra_specs": {
                    "resources:CUSTOM_GPU": "2",
                    "resources:VCPU": "0",
                    "resources:MEMORY_MB": "7",
                    "resources2:DISK_GB": "1",
                }
            },
            {"CUSTOM_GPU": 2, "MEMORY_MB": 7, "DISK_GB": 10},
        ),
    ],
    ids=["all disks", "dedicated CPUs are another class", "extra specs add and replace classes"],
)
def test_an_instance_takes_what_its_flavor_says(scene: Scene, fields: dict[str, Any], demand: dict[str, int]) -> None:
    request = resolved(scene, **fields)
    assert request.demand == demand
    assert (request.amount, request.required, request.forbidden) == (3, (), ())


def test_traits_are_required_or_forbidden(scene: Scene) -> None:
    specs = {"trait:HW_A": "required", "trait:CUSTOM_B": "forbidden", "trait1:HW_C": "required", "quota:x": "1"}
    request = resolved(scene, extra_specs=specs)
    assert (request.required, request.forbidden) == (("HW_A",), ("CUSTOM_B",))


@pytest.mark.parametrize("value", ["", "two", "-1", "1.5", "preferred"])
@pytest.mark.parametrize("key", ["resources:VCPU", "trait:HW_A"])
def test_a_flavor_that_makes_no_sense_is_refused(scene: Scene, key: str, value: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolved(scene, extra_specs={key: value})
    assert (caught.value.status, caught.value.field) == (400, "flavor_id")
    assert key in caught.value.message


def test_more_than_any_host_has_is_refused_as_such(scene: Scene) -> None:
    request = resolved(scene, extra_specs={"resources:VCPU": "9" * 255})
    assert refused(KIND.allocate(request, search(pool_of([host(1)])))).largest == 0


def test_a_flavor_that_is_not_for_the_caller_does_not_exist(scene: Scene) -> None:
    with pytest.raises(NotFoundError, match="'flavor_id': 'nothing'"):
        DRIVER.resolve(scene.cloud, ALICE, request("nothing"))
    with pytest.raises(NotFoundError):
        resolved(scene, public=False)
    scene.cloud.flavors.grant("f", "demo")
    assert KIND.store(DRIVER.resolve(scene.cloud, ALICE, request("f")))["flavor"]["projects"] == []


def test_a_cloud_that_does_not_answer_is_said_to_be_away(scene: Scene) -> None:
    scene.cloud.faults.set(Fault("flavors.get", error="before", remaining=1))
    with pytest.raises(CloudUnavailableError):
        DRIVER.resolve(scene.cloud, ALICE, request("m1.small"))


def test_a_request_is_resolved_once_and_is_json(scene: Scene) -> None:
    request = resolved(scene, extra_specs={"trait:HW_A": "required"})
    scene.cloud.flavors.delete("f")
    assert DRIVER.resolve(scene.cloud, ALICE, request) == request
    assert KIND.load(from_database(KIND, request)) == request


def test_who_may_use_the_source_flavor_is_not_kept() -> None:
    captured = capture(request("f"), Flavor("f", "f", 1, 1, 1, projects=frozenset({"demo"})))
    assert KIND.load(KIND.store(captured)) == captured


# ---------------------------------------------------------------- amendments


def test_the_captured_flavor_is_kept_while_its_id_stays() -> None:
    changes = {"flavor_id": "f", "resource_properties": ""}
    assert KIND.amend(reservation(KIND, flavors(2)), changes) == flavors(2)


def test_another_flavor_is_looked_up_again(scene: Scene) -> None:
    request = KIND.amend(reservation(KIND, flavors(2)), {"flavor_id": "m1.medium"})
    assert request == FlavorRequest("m1.medium", 2)
    assert DRIVER.resolve(scene.cloud, ALICE, request).demand == {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 40}


# ---------------------------------------------------------------- placement


def test_only_hosts_with_every_class_are_used() -> None:
    gpus = {"VCPU": 8, "CUSTOM_GPU": 2}
    there = search(pool_of([host(1), host(2, capacity=gpus), host(3, capacity=gpus)]))
    request = flavors(3, demand={"VCPU": 1, "CUSTOM_GPU": 1})
    assert placed(KIND.allocate(request, there)) == {2: 2, 3: 1}
    refusal = refused(KIND.allocate(replace(request, amount=5), there))
    assert (refusal.largest, steps(refusal)) == (4, [3, 3, 3, 2])


def test_no_instance_takes_more_of_a_class_than_one_may() -> None:
    there = search(pool_of([host(1, max_unit={"VCPU": 2}), host(2, max_unit={"VCPU": 4})]))
    assert placed(KIND.allocate(flavors(2, demand={"VCPU": 3}), there)) == {2: 2}
    assert refused(KIND.allocate(flavors(1, demand={"VCPU": 5}), there)).nearest is None


def test_only_hosts_with_the_traits_are_used() -> None:
    pool = [host(1), host(2, traits=frozenset({"HW_A", "CUSTOM_B"})), host(3, traits=frozenset({"HW_A"}))]
    there = search(pool_of(pool))
    assert placed(KIND.allocate(flavors(1, required=("HW_A",)), there)) == {2: 1}
    assert placed(KIND.allocate(flavors(1, required=("HW_A",), forbidden=("CUSTOM_B",)), there)) == {3: 1}
    refusal = refused(KIND.allocate(flavors(1, required=("HW_C",)), there))
    assert (steps(refusal), refusal.largest, refusal.nearest) == ([3, 0, 0, 0], 0, None)


def test_slots_of_instance_reservations_share_the_host() -> None:
    there = search(pool_of([host(1)], [booked(1, hours(0, 9), 3, {"VCPU": 2, "MEMORY_MB": 1})]))
    assert placed(KIND.allocate(flavors(2, demand={"VCPU": 1}), there)) == {1: 2}
    assert refused(KIND.allocate(flavors(3, demand={"VCPU": 1}), there)).largest == 2
