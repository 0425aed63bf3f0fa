"""Many leases that are due in one minute: the real Placement answers some calls with errors that pass in a second."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import BY_SIZE, LEASE_WITHIN, Person, minute, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from tests.openstack.cloud import RunningCloud

LEASES, AT_ONCE = 50, 10
SMALL = {**BY_SIZE, "amount": 1, "memory_mb": 64}
START_WITHIN = 180.0


def test_fifty_leases_due_in_one_minute_all_become_active(cloud: RunningCloud) -> None:
    admin, demo = Person(cloud, "admin"), Person(cloud, "demo")
    with running_leasehold(cloud, "many"), nothing_left(admin):
        hosts = [admin.blazar.host.create(name=name)["id"] for name in cloud.computes]
        due = minute(seconds=90)
        made = [demo.promise(SMALL, due, minute(hours=2))["id"] for _ in range(LEASES)]

        def all_active() -> bool:
            statuses = {each["id"]: each["status"] for each in demo.blazar.lease.list()}
            assert "ERROR" not in statuses.values()
            return all(statuses[ident] == "ACTIVE" for ident in made)

        wait_for(all_active, within=START_WITHIN)
        assert demo.boots(demo.blazar.lease.get(made[-1])["reservations"][0]["id"])
        with ThreadPoolExecutor(AT_ONCE) as people:
            list(people.map(demo.blazar.lease.delete, made))
        wait_for(lambda: not demo.blazar.lease.list(), within=2 * LEASE_WITHIN)
        for host in hosts:
            admin.blazar.host.delete(host)
