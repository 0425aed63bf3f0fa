"""Several hypervisors behind one compute service, as with Ironic: aggregates cannot separate them (resources §0.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.db import tables
from leasehold.db.engine import writing
from leasehold.leasing.resources.candidates import candidates_of
from leasehold.model.errors import SharedServiceHostError
from leasehold.model.resource import HOST
from leasehold.resource_types.slots.names import child_provider
from tests.factory import at_call, enrol_host, hosts, make_service, remove_host, run_manager
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_host_interleaved import ENROLLING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from leasehold.cloud.ports import Hypervisor, Hypervisors, ServiceReport
    from tests.factory import World

pytestmark = pytest.mark.slow

FIRST, SECOND = "cmp-01", "cmp-02"


@dataclass(frozen=True)
class Nodes:
    """The sandbox's hypervisors, with the second one behind the compute service of the first."""

    real: Hypervisors

    def list(self) -> Sequence[Hypervisor]:
        return [_moved(each) for each in self.real.list()]

    def find(self, reference: str) -> Hypervisor | None:
        found = self.real.find(reference)
        return None if found is None else _moved(found)

    def disable(self, service_host: str, reason: str) -> None:
        self.real.disable(service_host, reason)

    def enable(self, service_host: str, *reasons: str) -> None:
        self.real.enable(service_host, *reasons)

    def report(self, service_host: str) -> ServiceReport:
        return self.real.report(service_host)


def _moved(found: Hypervisor) -> Hypervisor:
    return replace(found, service_host=FIRST) if found.hypervisor_hostname == SECOND else found


@pytest.fixture
def ironic(tmp_path: Path) -> Iterator[World]:
    """Return a world with two hypervisors behind one compute service."""
    with make_service(tmp_path) as world:
        cloud = replace(world.service.cloud, hypervisors=Nodes(world.cloud.hypervisors))
        yield replace(world, service=replace(world.service, cloud=cloud))


def test_the_second_hypervisor_of_a_service_is_refused_and_nothing_is_touched(ironic: World) -> None:
    ironic.enrol(FIRST)
    with pytest.raises(
        SharedServiceHostError, match="cmp-02 and the enrolled host cmp-01 are behind one compute service"
    ):
        ironic.enrol(SECOND)
    refused = {
        each.found.reference: each.refused for each in candidates_of(ironic.service, ironic.service.types.get(HOST))
    }
    assert "behind one compute service" in str(refused.pop(SECOND))
    assert refused
    assert set(refused.values()) == {None}
    run_manager(ironic)
    assert [host.label for host in ironic.listed()] == [FIRST]
    assert child_provider(SECOND) not in ironic.cloud.providers.names()
    assert ironic.members("freepool") == {FIRST}
    remove_host(ironic.service, ironic.hosts[FIRST].id)
    run_manager(ironic)
    ironic.enrol(SECOND)
    assert ironic.members("freepool") == {FIRST}


@pytest.mark.parametrize("call", ENROLLING)
def test_of_two_enrolments_at_once_one_is_refused_whatever_runs_between_what(ironic: World, call: int) -> None:
    def first() -> None:
        ironic.enrol(FIRST)
        lease = ironic.active(hosts(), start=0, end=1)
        assert ironic.members(lease.reservations[0].id) == {FIRST}

    with pytest.raises(SharedServiceHostError):
        at_call(ironic, call, lambda: enrol_host(ironic.service, SECOND, {}), first)
    run_manager(ironic)
    assert [host.label for host in ironic.listed()] == [FIRST]
    assert child_provider(SECOND) not in ironic.cloud.providers.names()
    assert child_provider(FIRST) in ironic.cloud.providers.names()
    assert ironic.members("freepool") == set()
    assert findings(ironic) == []


def test_a_pair_that_is_enrolled_already_is_reported_and_comes_apart(world: World) -> None:
    """A version before this rule enrolled both hosts."""
    (second,) = [host for host in world.listed() if host.label == SECOND]
    with writing(world.engine) as connection:
        pair = {**second.attributes, "service_name": FIRST}
        connection.execute(update(tables.resources).where(tables.resources.c.id == second.id).values(attributes=pair))
    world.cloud.aggregates.remove_host("freepool", SECOND)
    [found] = findings(world)
    assert "cmp-01, cmp-02 are behind one compute service, cmp-01" in found.what
    assert found.mend is None
    remove_host(world.service, second.id)
    run_manager(world)
    assert FIRST in world.members("freepool")
    assert findings(world) == []
