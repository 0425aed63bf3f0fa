"""Contract lifecycle: statuses in answers, and the order of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import outbox
from tests.v1.world import HOST, INSTANCE, event

if TYPE_CHECKING:
    from typing import Any

    from tests.v1.world import World

pytestmark = pytest.mark.slow


def happened(world: World) -> list[tuple[str, str]]:
    """Return lease id and event type of each notification in the outbox, in order."""
    with world.service.db.reading() as connection:
        return [(row.lease_id, row.event_type) for row in connection.execute(outbox.select().order_by(outbox.c.id))]


def test_lifecycle_1_2_a_failed_reservation_is_error_in_lower_case(cloud_world: World) -> None:
    """A permanently failing start leaves the reservation `error` and the lease ERROR; the lease can be deleted."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST)
    cloud_world.cloud.faults.set(Fault("aggregates.add_host", error="before", permanent=True))
    cloud_world.wait(seconds=30)
    shown = cloud_world.show(lease)
    assert (shown["status"], shown["reservations"][0]["status"]) == ("ERROR", "error")
    assert event(shown, "start_lease")["status"] == "ERROR"
    cloud_world.cloud.faults.clear()
    cloud_world.ask("DELETE", f"/leases/{lease['id']}")
    cloud_world.wait(minutes=2)
    assert cloud_world.get("/leases")["leases"] == []
    assert cloud_world.hosts_of("freepool") == {"cmp-01"}


@pytest.mark.parametrize("late", [False, True], ids=["in time", "all due at once"])
def test_lifecycle_2_1_start_before_end_order(cloud_world: World, late: bool) -> None:  # noqa: FBT001
    """For one lease: start, then before_end, then end; also if the manager was down and all are due at once."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST, end_date=cloud_world.date(minutes=10), before_end_date=cloud_world.date(minutes=5))
    if late:
        cloud_world.wait(seconds=1)
        cloud_world.inside.clock.advance(minutes=30)
        cloud_world.wait(seconds=1)
    else:
        cloud_world.wait(minutes=11)
    kinds = [kind for ident, kind in happened(cloud_world) if ident == lease["id"] and "event" in kind]
    expected = ["lease.event.start_lease", "lease.event.before_end_lease", "lease.event.end_lease"]
    assert [kind for kind in expected if kind in kinds] == kinds
    assert kinds[0] == expected[0]
    assert kinds[-1] == expected[-1]
    assert cloud_world.show(lease)["status"] == "TERMINATED"
    if not late:
        assert kinds == expected


@pytest.mark.parametrize("asked", [HOST, {**INSTANCE, "vcpus": 8}], ids=["host", "instance"])
def test_lifecycle_2_1_ends_before_starts_back_to_back(cloud_world: World, asked: dict[str, Any]) -> None:
    """If one lease ends when the next one starts on the same host, the end runs first and both succeed."""
    cloud_world.enrol("cmp-01")
    border = cloud_world.date(minutes=5)
    second = cloud_world.lease(asked, start_date=border, end_date=cloud_world.date(minutes=10))
    first = cloud_world.lease(asked, end_date=border)
    cloud_world.wait(minutes=4)
    assert cloud_world.show(first)["status"] == "ACTIVE"
    cloud_world.wait(minutes=2)
    assert cloud_world.show(first)["status"] == "TERMINATED"
    assert cloud_world.show(second)["status"] == "ACTIVE"
    order = happened(cloud_world)
    assert order.index((first["id"], "lease.event.end_lease")) < order.index((second["id"], "lease.event.start_lease"))
    assert cloud_world.hosts_of(second["reservations"][0]["id"]) == {"cmp-01"}
    assert cloud_world.cloud.aggregates.get(first["reservations"][0]["id"]) is None


def test_lifecycle_2_1_a_start_waits_for_servers_that_linger(cloud_world: World) -> None:
    """The next lease starts only when the previous lease's servers are gone, and shows what it waits for."""
    cloud_world.enrol("cmp-01")
    border = cloud_world.date(minutes=5)
    first = cloud_world.lease(HOST, end_date=border)
    second = cloud_world.lease(HOST, start_date=border, end_date=cloud_world.date(minutes=20))
    cloud_world.wait(seconds=1)
    cloud_world.boot("m1.small", first["reservations"][0]["id"])
    cloud_world.cloud.servers.take_to("delete", 180)
    cloud_world.wait(minutes=6)
    waiting = cloud_world.get(f"/leases/{second['id']}", headers={"OpenStack-API-Version": "reservation 1.1"})["lease"]
    assert waiting["status"] in {"PENDING", "STARTING"}
    assert "cmp-01" in waiting["status_reason"]
    cloud_world.wait(minutes=5)
    assert cloud_world.show(first)["status"] == "TERMINATED"
    assert cloud_world.show(second)["status"] == "ACTIVE"


def test_lifecycle_6_a_lease_can_always_be_deleted(cloud_world: World) -> None:
    """A lease can be deleted in every state: before its start, while active, and after its end."""
    cloud_world.enrol("cmp-01")
    for minutes in (1, 7, 12):
        lease = cloud_world.lease(HOST, start_date=cloud_world.date(minutes=5), end_date=cloud_world.date(minutes=10))
        cloud_world.wait(minutes=minutes)
        assert cloud_world.ask("DELETE", f"/leases/{lease['id']}").status_code == 204
        cloud_world.wait(seconds=30)
        assert cloud_world.ask("GET", f"/leases/{lease['id']}").status_code == 404
        assert cloud_world.hosts_of("freepool") == {"cmp-01"}
