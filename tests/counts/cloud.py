"""The number of calls that each step of a reservation makes to the cloud, and how many of them write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.db.task import LEASE, hurry_task
from leasehold.manager import monitor
from leasehold.manager.task_runner import run_task
from tests.counts.costs import ADDRESSES, HOSTS, run_manager_until
from tests.counts.meter import CallCounter
from tests.factory import claim_one, enrol_host, flavors, floating_ips, hosts, instances, make_service, run_manager

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from leasehold.model.lease import Lease
    from tests.factory import World

REQUESTS = (hosts(1), hosts(3), instances(2), flavors(2), floating_ips(1))


def count_cloud(folder: Path) -> dict[str, dict[str, int]]:
    """Return the calls of every step of every type, on the sandbox; a repeated step must write nothing."""
    with make_service(folder, hosts=HOSTS, addresses=ADDRESSES) as world:
        counter = CallCounter(world.cloud, world.engine)
        watched = replace(world, service=replace(world.service, cloud=counter.cloud))
        counts: dict[str, dict[str, int]] = {}
        for number, request in enumerate(REQUESTS):
            counts |= _life(watched, counter, 10 * number + 10, request)
        counts["enrol a host"] = counter.of(lambda: enrol_host(watched.service, "cmp-05", {}))
        counts["health, all well"] = counter.of(lambda: monitor.check_once(watched.service))
        return counts


def _life(world: World, counter: CallCounter, begin: int, request: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Count the steps of a lease with one reservation, and repeat those that must then find nothing to do."""
    name = f"{request['resource_type']}, {request.get('amount', request.get('max'))}"
    made: list[Lease] = []
    counts = {
        f"{name}: create": counter.of(lambda: made.append(world.lease(request, start=begin, end=begin + 2))),
        f"{name}: prepare": counter.of(lambda: _step(world)),
    }
    [lease] = made
    counts[f"{name}: prepared already"] = counter.of(lambda: _again(world, lease))
    run_manager_until(world, begin)
    counts[f"{name}: start"] = counter.of(lambda: _step(world))
    counts[f"{name}: active already"] = counter.of(lambda: _again(world, lease))
    run_manager_until(world, begin + 2)
    counts[f"{name}: end"] = counter.of(lambda: _step(world))
    run_manager(world)
    assert world.get(lease).status == "TERMINATED"
    return counts


def _step(world: World) -> None:
    claim = claim_one(world)
    assert claim is not None, "nothing is due"
    run_task(world.service, claim)


def _again(world: World, lease: Lease) -> None:
    assert world.service.db.transact(lambda connection: hurry_task(connection, LEASE, lease.id, world.now()))
    _step(world)
