"""Instances of an existing flavor: requests, the demand of one instance, and the choice of hosts."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.cloud.ports import Flavor
from leasehold.cloud.sandbox.faults import Fault
from leasehold.model.caller import Caller
from leasehold.model.errors import (
    CloudUnavailableError,
    ConflictError,
    InvalidInputError,
    MissingParameterError,
    NotFoundError,
)
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.flavor.driver import FlavorDriver
from leasehold.resource_types.flavor.kind import FlavorKind, FlavorRequest, capture
from tests.unit.resource_types.pool import (
    OURS,
    active,
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


def asked(amount: object = 1, flavor: object = "f", **more: Any) -> dict[str, Any]:
    return {"flavor_id": flavor, "amount": amount, "affinity": None, **more}


def resolved(scene: Scene, amount: int = 1, **fields: Any) -> FlavorRequest:
    """Return the resolved request for instances of a public flavor with these fields."""
    sizes = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10, "public": True}
    scene.cloud.flavors.ensure(Flavor("f", "f", **{**sizes, **fields}))
    return DRIVER.resolve(scene.cloud, ALICE, KIND.parse(asked(amount)))


def captured(amount: int = 1, **changes: Any) -> FlavorRequest:
    """Return a request as the database stores it, by default for one VCPU."""
    source = Flavor("f", "f", vcpus=1, memory_mb=512, disk_gb=1)
    return replace(FlavorRequest("f", amount, source=source, demand={"VCPU": 1}), **changes)


# ---------------------------------------------------------------- requests


def test_a_request_is_kept_without_unknown_keys() -> None:
    parsed = KIND.parse(asked("2", 42, resource_properties=""))
    assert parsed == FlavorRequest("42", 2)
    assert KIND.store(parsed) == asked(2, "42")


def test_required_keys_are_named_together_when_missing() -> None:
    with pytest.raises(MissingParameterError, match="Missing parameter flavor_id, amount, affinity"):
        KIND.parse({})


@pytest.mark.parametrize("amount", [0, "", "many", None])
def test_the_amount_is_a_whole_number_from_one(amount: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        KIND.parse(asked(amount))
    assert caught.value.field == "amount"


@pytest.mark.parametrize("affinity", [True, False, "yes", "0"])
def test_any_affinity_is_a_conflict(affinity: object) -> None:
    with pytest.raises(ConflictError) as caught:
        KIND.parse(asked(affinity=affinity))
    assert (caught.value.status, caught.value.field) == (409, "affinity")


@pytest.mark.parametrize("affinity", ["", "none", "None", None])
def test_no_affinity_comes_in_many_spellings(affinity: object) -> None:
    assert KIND.parse(asked(affinity=affinity)).affinity is None


# ---------------------------------------------------------------- demands from the flavor


def test_an_instance_takes_what_its_flavor_says(scene: Scene) -> None:
    request = resolved(scene, 3, ephemeral_gb=5, swap_mb=4096)
    assert request.demand == {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 15}
    assert (request.amount, request.required, request.forbidden) == (3, (), ())


def test_dedicated_cpus_are_another_class(scene: Scene) -> None:
    demand = resolved(scene, extra_specs={"hw:cpu_policy": "dedicated"}).demand
    assert demand == {"PCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}


def test_extra_specs_add_and_replace_classes(scene: Scene) -> None:
    specs = {"resources:CUSTOM_GPU": "2", "resources:VCPU": "0", "resources:MEMORY_MB": "7", "resources2:DISK_GB": "1"}
    assert resolved(scene, extra_specs=specs).demand == {"CUSTOM_GPU": 2, "MEMORY_MB": 7, "DISK_GB": 10}


def test_traits_are_required_or_forbidden(scene: Scene) -> None:
    specs = {"trait:HW_A": "required", "trait:CUSTOM_B": "forbidden", "trait1:HW_C": "required", "quota:x": "1"}
    request = resolved(scene, extra_specs=specs)
    assert (request.required, request.forbidden) == (("HW_A",), ("CUSTOM_B",))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resources:VCPU", ""),
        ("resources:VCPU", "two"),
        ("resources:VCPU", "-1"),
        ("resources:VCPU", "1.5"),
        ("trait:HW_A", "preferred"),
        ("trait:HW_A", ""),
    ],
)
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
        DRIVER.resolve(scene.cloud, ALICE, KIND.parse(asked(flavor="nothing")))
    with pytest.raises(NotFoundError):
        resolved(scene, public=False)
    scene.cloud.flavors.grant("f", "demo")
    request = DRIVER.resolve(scene.cloud, ALICE, KIND.parse(asked()))
    assert KIND.store(request)["flavor"]["projects"] == []


def test_a_cloud_that_does_not_answer_is_said_to_be_away(scene: Scene) -> None:
    scene.cloud.faults.set(Fault("flavors.get", error="before", remaining=1))
    with pytest.raises(CloudUnavailableError):
        DRIVER.resolve(scene.cloud, ALICE, KIND.parse(asked(flavor="m1.small")))


def test_a_request_is_resolved_once_and_is_json(scene: Scene) -> None:
    request = resolved(scene, extra_specs={"trait:HW_A": "required"})
    scene.cloud.flavors.delete("f")
    assert DRIVER.resolve(scene.cloud, ALICE, request) == request
    assert KIND.load(from_database(KIND, request)) == request


def test_the_view_shows_the_source_flavor_as_text(scene: Scene) -> None:
    request = resolved(scene, 2)
    view = KIND.view(reservation(KIND, request, cloud={"aggregate_id": 7}))
    source = json.loads(view.pop("resource_properties"))
    assert (source["id"], source["vcpus"]) == ("f", 2)
    names = {"flavor_id": OURS, "server_group_id": None, "aggregate_id": 7}
    assert view == {"amount": 2, "vcpus": 2, "memory_mb": 1024, "disk_gb": 10, "affinity": None, **names}


def test_exactly_changes_the_amount() -> None:
    assert KIND.exactly(captured(1), 3) == captured(3)


SIZES = st.integers(0, MOST)
TRAITS = st.lists(st.text(min_size=1), unique=True).map(tuple)
SOURCES = st.builds(
    Flavor,
    id=st.text(min_size=1),
    name=st.text(),
    vcpus=SIZES,
    memory_mb=SIZES,
    disk_gb=SIZES,
    ephemeral_gb=SIZES,
    swap_mb=SIZES,
    public=st.booleans(),
    extra_specs=st.dictionaries(st.text(), st.text()),
    # The access list of the source flavor is not stored.
    projects=st.just(frozenset[str]()),
)
REQUESTS = st.builds(FlavorRequest, flavor_id=st.text(min_size=1), amount=st.integers(1, MOST)) | st.builds(
    FlavorRequest,
    flavor_id=st.text(min_size=1),
    amount=st.integers(1, MOST),
    source=SOURCES,
    demand=st.dictionaries(st.text(min_size=1), st.integers(1)),
    required=TRAITS,
    forbidden=TRAITS,
    captured=st.none() | st.text(),
)


@given(REQUESTS)
def test_a_request_comes_back_from_the_database_as_it_was(request: FlavorRequest) -> None:
    assert KIND.load(from_database(KIND, request)) == request


@pytest.mark.parametrize("text", [{}, {"captured": '{"id": "f"}'}], ids=["of its own", "taken over"])
def test_a_request_of_an_older_version_is_read_and_kept_as_it_is(text: dict[str, str]) -> None:
    source = Flavor("f", "f", vcpus=1, memory_mb=512, disk_gb=1, extra_specs={"trait:HW_A": "required"})
    lists = {"required": ["HW_A"], "forbidden": []}
    stored = {**asked(2), "flavor": asdict(source) | {"projects": []}, "demand": {"VCPU": 1}, **lists, **text}
    assert KIND.load(stored) == captured(2, source=source, required=("HW_A",), captured=text.get("captured"))
    assert from_database(KIND, KIND.load(stored)) == stored
    assert KIND.load({**stored, "colour": "red"}) == KIND.load(stored)


# ---------------------------------------------------------------- amendments


def test_the_captured_flavor_is_kept_while_its_id_stays() -> None:
    part = reservation(KIND, captured(2))
    assert KIND.amend(part, {"amount": 1}) == captured(1)
    assert KIND.amend(part, {"flavor_id": "f", "resource_properties": ""}) == captured(2)


def test_another_flavor_is_looked_up_again(scene: Scene) -> None:
    request = KIND.amend(reservation(KIND, captured(2)), {"flavor_id": "m1.medium"})
    assert request == FlavorRequest("m1.medium", 2)
    assert DRIVER.resolve(scene.cloud, ALICE, request).demand == {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 40}


def test_only_the_amount_grows_once_active() -> None:
    part = active(KIND, captured(2))
    assert KIND.amend(part, {"amount": 3}) == captured(3)
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(part, {"amount": 1})
    assert caught.value.field == "amount"
    with pytest.raises(InvalidInputError) as caught:
        KIND.amend(part, {"flavor_id": "m1.medium"})
    assert caught.value.field == "flavor_id"


def test_a_reservation_in_error_does_not_change() -> None:
    with pytest.raises(ConflictError):
        KIND.amend(reservation(KIND, captured(2), status=ReservationStatus.ERROR), {"amount": 3})


# ---------------------------------------------------------------- placement


def test_only_hosts_with_every_class_are_used() -> None:
    gpus = {"VCPU": 8, "CUSTOM_GPU": 2}
    snapshot = pool_of([host(1), host(2, capacity=gpus), host(3, capacity=gpus)])
    request = captured(3, demand={"VCPU": 1, "CUSTOM_GPU": 1})
    assert placed(KIND.allocate(request, search(snapshot))) == {2: 2, 3: 1}
    refusal = refused(KIND.allocate(replace(request, amount=5), search(snapshot)))
    assert (refusal.largest, steps(refusal)) == (4, [3, 3, 3, 2])


def test_no_instance_takes_more_of_a_class_than_one_may() -> None:
    snapshot = pool_of([host(1, max_unit={"VCPU": 2}), host(2, max_unit={"VCPU": 4})])
    assert placed(KIND.allocate(captured(2, demand={"VCPU": 3}), search(snapshot))) == {2: 2}
    assert refused(KIND.allocate(captured(1, demand={"VCPU": 5}), search(snapshot))).nearest is None


def test_only_hosts_with_the_traits_are_used() -> None:
    snapshot = pool_of([host(1), host(2, traits=frozenset({"HW_A", "CUSTOM_B"})), host(3, traits=frozenset({"HW_A"}))])
    assert placed(KIND.allocate(captured(required=("HW_A",)), search(snapshot))) == {2: 1}
    assert placed(KIND.allocate(captured(required=("HW_A",), forbidden=("CUSTOM_B",)), search(snapshot))) == {3: 1}
    refusal = refused(KIND.allocate(captured(required=("HW_C",)), search(snapshot)))
    assert (steps(refusal), refusal.largest, refusal.nearest) == ([3, 0, 0, 0], 0, None)


def test_slots_of_instance_reservations_share_the_host() -> None:
    snapshot = pool_of([host(1)], [booked(1, hours(0, 9), 3, {"VCPU": 2, "MEMORY_MB": 1})])
    assert placed(KIND.allocate(captured(2), search(snapshot))) == {1: 2}
    refusal = refused(KIND.allocate(captured(3), search(snapshot)))
    assert (refusal.resource_type, refusal.largest, refusal.nearest) == ("flavor:instance", 2, hours(9, 10))


def test_a_lease_on_the_whole_host_keeps_instances_off_it() -> None:
    snapshot = pool_of([host(1), host(2)], [booked(1, hours(0, 9))])
    assert placed(KIND.allocate(captured(8), search(snapshot))) == {2: 8}


def test_who_may_use_the_source_flavor_is_not_kept() -> None:
    request = capture(KIND.parse(asked()), Flavor("f", "f", 1, 1, 1, projects=frozenset({"demo"})))
    assert KIND.load(KIND.store(request)) == request
