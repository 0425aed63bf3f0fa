"""What a test leaves behind that fails in the middle is gone before the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.openstack.cleaning import restore, sweep
from tests.openstack.leasehold import QUICK, running_leasehold
from tests.openstack.leftovers import differences, listing
from tests.openstack.person import BY_SIZE, HOST, SERVICES_BY_UUID, Person
from tests.processes import wait_for

if TYPE_CHECKING:
    from tests.openstack.cloud import RunningCloud


def test_what_failed_tests_leave_is_deleted(cloud: RunningCloud) -> None:
    """First after one of several in a file, whose Leasehold still runs; then after the last one."""
    before = listing(cloud.connection())
    with running_leasehold(cloud, "cleaning", QUICK):
        admin, demo = Person(cloud, "admin"), Person(cloud, "demo")
        of_the_file = admin.blazar.host.create(name=cloud.computes[0])
        began = datetime.now(UTC)
        wait_for(lambda: datetime.now(UTC) - began > timedelta(seconds=1))
        admin.blazar.host.create(name=cloud.computes[1])
        lease = demo.lease(HOST)
        demo.boot(str(demo.sdk.compute.find_flavor("m1.nano").id), lease["reservations"][0]["id"])
        sweep(cloud, began)
        assert demo.servers() == set()
        assert admin.blazar.lease.list() == []
        assert [each["id"] for each in admin.blazar.host.list()] == [of_the_file["id"]]
        demo.lease(BY_SIZE)
    admin.set_compute(cloud.computes[2], status="disabled", forced_down=True)
    assert differences(before, listing(admin.sdk)) != []
    assert restore(cloud, before) == []
    path = f"/os-services?binary=nova-compute&host={cloud.computes[2]}"
    [service] = admin.sdk.compute.get(path, microversion=SERVICES_BY_UUID).json()["services"]
    assert (service["status"], service["forced_down"]) == ("enabled", False)
