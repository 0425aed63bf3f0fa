"""Each compute in turn is disabled, forced down and recovered, under leases with servers: none is deleted by us."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import BY_SIZE, HOST, Person, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

SEEN_WITHIN = 60


@pytest.fixture
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold and every compute enrolled."""
    with running_leasehold(cloud, "broken_hosts", {"physical:host": {"polling_interval": 1}}):
        person = Person(cloud, "admin")
        with nothing_left(person), ExitStack() as undo:
            for name in cloud.computes:
                undo.callback(person.blazar.host.delete, person.blazar.host.create(name=name)["id"])
            yield person


def test_no_server_is_deleted_whatever_becomes_of_its_host(admin: Person) -> None:
    demo = Person(admin.cloud, "demo")
    flavor = str(demo.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id)
    leases = [demo.lease(HOST), demo.lease(BY_SIZE)]
    whole, slots = (lease["reservations"][0]["id"] for lease in leases)
    servers = [demo.boot(flavor, whole), demo.boot(slots), demo.boot(slots)]
    assert [demo.outcome(server) for server in servers] == ["ACTIVE"] * 3

    def places() -> list[str]:
        return [str(admin.sdk.compute.get_server(server).compute_host) for server in servers]

    def parts() -> list[dict[str, Any]]:
        return [demo.blazar.lease.get(lease["id"])["reservations"][0] for lease in leases]

    def flagged(name: str) -> list[bool]:
        return [bool(part[name]) for part in parts()]

    def seen(host: str, *, usable: bool) -> None:
        """Wait until the host can be leased or not; whatever happened until then, the servers are where they were."""
        wait_for(
            lambda: usable in [each["reservable"] for each in admin.blazar.host.list() if each["id"] == ids[host]],
            within=SEEN_WITHIN,
        )
        assert places() == before

    def told(struck: list[bool]) -> bool:
        flags = [part["resources_changed"] or part["missing_resources"] for part in parts()]
        return all(flag for flag, hit in zip(flags, struck, strict=True) if hit)

    ids, before = {each["hypervisor_hostname"]: each["id"] for each in admin.blazar.host.list()}, places()
    for host in admin.cloud.computes:
        admin.set_compute(host, status="disabled")
        seen(host, usable=False)
        admin.set_compute(host, status="enabled")
        seen(host, usable=True)
    assert flagged("resources_changed") == flagged("missing_resources") == [False, False]
    for host in admin.cloud.computes:
        admin.set_compute(host, forced_down=True)
        seen(host, usable=False)
        if host in before:
            # The leases with servers there have another host, or say that they miss one.
            struck = [before[0] == host, host in before[1:]]
            wait_for(partial(told, struck), within=SEEN_WITHIN)
        admin.set_compute(host, forced_down=False)
        seen(host, usable=True)
    wait_for(lambda: flagged("missing_resources") == [False, False], within=SEEN_WITHIN)
    assert places() == before
    for lease in leases:
        demo.end(lease)
    assert not set(servers) & demo.servers()
