"""Server groups of affinity leases are created in the owner's project only, whichever project amends the lease."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.cloud.asked_once import asked_once
from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudTransientError, ServerGroup
from leasehold.leasing.callers_name import act_in_callers_name
from leasehold.resource_types.instance.driver import InstanceDriver
from leasehold.resource_types.instance.kind import InstanceKind, InstanceRequest
from leasehold.resource_types.registry import ResourceType, ResourceTypes
from leasehold.resource_types.slots.names import group_of
from tests.factory import instances, run_manager

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from tests.factory import World

OWNER, OPERATOR = "demo", "operators"


@dataclass
class Groups:
    """Nova's server groups in memory; a token is the name of its project."""

    made: dict[str, tuple[str, str, bool]] = field(default_factory=dict)

    def list(self) -> Sequence[ServerGroup]:
        return [ServerGroup(ident, name, frozenset()) for ident, (name, _, _) in self.made.items()]

    def create(self, name: str, *, together: bool, token: str) -> str:
        ident = str(uuid4())
        self.made[ident] = (name, token, together)
        return ident

    def delete(self, group_id: str) -> None:
        self.made.pop(group_id, None)


@pytest.fixture
def groups() -> Groups:
    return Groups()


@pytest.fixture
def service(world: World, groups: Groups) -> Service:
    return replace(world.service, cloud=replace(world.service.cloud, server_groups=groups))


def shared(service: Service, lease: Lease, project: str) -> Lease:
    """Act in the name of a caller in this project, as a request does after its decision."""
    return act_in_callers_name(service, lease, project, project)


def group(world: World, lease: Lease) -> str | None:
    return group_of(world.get(lease).reservations[0])


def test_a_group_is_made_in_the_owners_project(world: World, service: Service, groups: Groups) -> None:
    lease = shared(service, world.lease(instances(2, affinity=True), start=1, end=3), OWNER)
    (made,) = groups.made.items()
    assert made == (group(world, lease), (f"reservation:{lease.reservations[0].id}", OWNER, True))


def test_an_administrator_of_another_project_makes_none_there(world: World, service: Service, groups: Groups) -> None:
    lease = world.lease(instances(2), start=1, end=3)
    amended = shared(service, world.amend(lease, {"affinity": False}), OPERATOR)
    assert (groups.made, group(world, lease)) == ({}, None)
    shared(service, amended, OWNER)
    assert [project for _, project, _ in groups.made.values()] == [OWNER]
    assert list(groups.made) == [group(world, lease)]


def test_an_administrator_removes_a_group_that_no_longer_fits(world: World, service: Service, groups: Groups) -> None:
    """A boot with the hint of the old group would find no host; the owner's next amendment creates a new group."""
    lease = shared(service, world.lease(instances(2, affinity=True), start=1, end=3), OWNER)
    shared(service, world.amend(lease, {"affinity": False}), OPERATOR)
    assert (groups.made, group(world, lease)) == ({}, None)
    run_manager(world)
    owner_sees = shared(service, world.amend(lease, end=4), OWNER)
    ((_, project, together),) = groups.made.values()
    assert (project, together, group(world, owner_sees)) == (OWNER, False, next(iter(groups.made)))


def test_a_group_that_fits_stays_whoever_amends(world: World, service: Service, groups: Groups) -> None:
    lease = shared(service, world.lease(instances(2, affinity=True), start=1, end=3), OWNER)
    before = dict(groups.made)
    shared(service, world.amend(lease, end=4), OPERATOR)
    assert groups.made == before
    assert group(world, lease) == next(iter(before))


@dataclass
class Silent(Groups):
    """A Nova that never answers: each call fails at the deadline."""

    seconds: float = 100.0
    asked: int = 0

    def now(self) -> float:
        return self.seconds

    def create(self, name: str, *, together: bool, token: str) -> str:
        self.asked += 1
        self.seconds += time_left() or 0.0
        message = "nova server_groups.create: the service did not answer in time"
        raise CloudTransientError(message)


def test_a_silent_nova_costs_one_deadline_whatever_the_number_of_parts(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    lease = world.lease(*(instances(1, affinity=False) for _ in range(8)), start=1, end=3)
    nova = Silent()
    with asked_once(replace(world.service.cloud, server_groups=nova), 20, nova.now) as cloud:
        shared(replace(world.service, cloud=cloud), lease, OWNER)
    assert (nova.asked, nova.seconds) == (1, 120.0)
    assert world.exists(lease)
    assert [group_of(part) for part in world.get(lease).reservations] == [None] * 8
    assert f"Lease {lease.id}: 7 reservations have no server group of their own" in caplog.messages[-1]


class Clumsy(InstanceDriver):
    """A driver with a bug: it raises an error that no driver may raise."""

    def act_for_caller(
        self, cloud: Cloud, reservation: Reservation, request: InstanceRequest, token: str | None
    ) -> Mapping[str, Any]:
        raise ZeroDivisionError


def test_a_bug_of_a_driver_fails_no_request_whose_lease_is_committed(
    world: World, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    types = {**service.types.by_name, "virtual:instance": ResourceType(InstanceKind(), Clumsy())}
    lease = world.lease(instances(2, affinity=True), start=1, end=3)
    assert shared(replace(service, types=ResourceTypes(types)), lease, OWNER) == lease
    assert "ZeroDivisionError" in caplog.text
