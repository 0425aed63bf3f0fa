"""Feature E7: servers that outlive their lease are suspended at its end, once each (decision 0069)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.api.versions import V1_2, V1_3
from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.tables import servers
from leasehold.db.tables import outbox
from leasehold.model.errors import InvalidInputError
from leasehold.model.terms.end_action import EndAction
from leasehold.resource_types.end_actions.suspend import LATE, NOT_RUNNING, NOT_SUSPENDED
from tests.factory import flavors, floating_ips, hosts, instances, run_for, run_until
from tests.owners import resume
from tests.unit.leasing.looking import findings, in_database
from tests.unit.leasing.showing import show_reservation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOUR = 3600
WAIT = timedelta(minutes=10)
SUSPEND: dict[str, Any] = {"before_end": "suspend"}
RECYCLE: dict[str, Any] = {"on_end": "recycle", "recycle_seconds": 2 * HOUR}
EVERY_TYPE = [hosts(), instances(2), flavors(2)]


@pytest.fixture
def world(world: World) -> World:
    """Return the world with a manager that waits ten minutes for servers to be suspended."""
    return world.with_end_waits(suspend=WAIT)


def suspending(world: World, asked: Mapping[str, Any] | None = None, **more: Any) -> Lease:
    """Return an active lease whose servers are to be suspended, from hour 0 to 3, and recycled until hour 5."""
    return world.active({**(asked or hosts()), **SUSPEND, **(more or RECYCLE)}, end=3)


def there(world: World) -> dict[str, str]:
    """Return the status of each server by name."""
    return {each.name: each.status for each in world.cloud.servers.all() if each.status != "DELETING"}


def shown(world: World, lease: Lease) -> list[tuple[str, str, str | None]]:
    """Return the name, the status and the reason of each result, as owners see them."""
    seen: Any = show_reservation(world.part(lease), world.service.types, V1_3)
    return sorted((each["server_name"], each["status"], each["reason"]) for each in seen["suspended"])


def told(world: World) -> Any:
    """Return what the last event of an end says of suspended servers; None if it says nothing."""
    wanted = select(outbox.c.payload).where(outbox.c.event_type == "lease.event.end_lease").order_by(outbox.c.id.desc())
    with world.service.db.reading() as connection:
        return connection.execute(wanted.limit(1)).scalar_one().get("suspended")


def check_over(world: World, lease: Lease) -> None:
    """Check that the lease has ended completely, and that nothing of it is left."""
    assert world.status(lease) == "TERMINATED"
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None
    assert not [each.what for each in (*in_database(world), *findings(world))]


# ------------------------------------------------------------ what happens at the end


@pytest.mark.parametrize("asked", EVERY_TYPE, ids=["hosts", "instances", "flavors"])
def test_servers_run_until_the_end_and_are_suspended_until_they_are_deleted(
    world: World, asked: Mapping[str, Any]
) -> None:
    lease = suspending(world, asked)
    for name in ("one", "two"):
        world.boot(lease, name=name)
    run_until(world, world.hour(3) - timedelta(seconds=1))
    assert (there(world), shown(world, lease)) == (dict.fromkeys(("one", "two"), "ACTIVE"), [])
    run_until(world, world.hour(3.1))
    assert there(world) == dict.fromkeys(("one", "two"), "SUSPENDED")
    assert shown(world, lease) == [("one", "done", None), ("two", "done", None)]
    assert "suspended" not in show_reservation(world.part(lease), world.service.types, V1_2)
    assert not findings(world)
    run_until(world, world.hour(5.1))
    assert there(world) == {}
    assert sorted(each["server_name"] for each in told(world)) == ["one", "two"]
    assert shown(world, lease) == [("one", "done", None), ("two", "done", None)]
    assert world.reason(lease) == ""
    check_over(world, lease)


@pytest.mark.parametrize("asked", EVERY_TYPE, ids=["hosts", "instances", "flavors"])
def test_a_server_that_its_owner_resumes_is_not_suspended_again(world: World, asked: Mapping[str, Any]) -> None:
    lease = suspending(world, asked)
    server = world.boot(lease)
    run_until(world, world.hour(3.1))
    assert there(world) == {"server": "SUSPENDED"}
    resume(world.cloud.servers, server.id)
    run_until(world, world.hour(4.9))
    assert (there(world), shown(world, lease)) == ({"server": "ACTIVE"}, [("server", "done", None)])
    run_until(world, world.hour(5.1))
    assert there(world) == {}
    check_over(world, lease)


def test_suspended_servers_stay_on_a_host_that_is_given_back(world: World) -> None:
    lease = suspending(world, on_end="give_back")
    server = world.boot(lease)
    world.cloud.servers.take_to("suspend", 300)
    run_until(world, world.hour(3.02))
    assert (world.status(lease), there(world)) == ("TERMINATING", {"server": "SUSPENDING"})
    until = f"{world.hour(3) + WAIT:%Y-%m-%d %H:%M}"
    assert world.reason(lease) == f"Waiting for the cloud: 1 servers are being suspended, until {until} UTC at most."
    run_until(world, world.hour(3.2))
    assert (there(world), shown(world, lease)) == ({"server": "SUSPENDED"}, [("server", "done", None)])
    assert world.status(lease) == "TERMINATED"
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None
    assert resume(world.cloud.servers, server.id).service_host == server.service_host
    run_for(world, hours=1)
    assert there(world) == {"server": "ACTIVE"}


def test_a_server_that_is_not_suspended_in_time_lives_on_and_is_said(world: World) -> None:
    lease = suspending(world)
    world.boot(lease)
    world.refuse("servers.suspend")
    run_until(world, world.hour(3.1))
    assert shown(world, lease) == [("server", "waiting", None)]
    run_until(world, world.hour(3.3))
    assert shown(world, lease) == [("server", "failed", LATE)]
    world.cloud.faults.clear()
    run_until(world, world.hour(4.9))
    assert (there(world), shown(world, lease)) == ({"server": "ACTIVE"}, [("server", "failed", LATE)])
    run_until(world, world.hour(5.05))
    assert there(world) == {}
    assert "without 1 of the servers that it was to suspend" in world.reason(lease)
    check_over(world, lease)


def test_a_host_is_given_back_in_time_when_a_server_is_not_suspended(world: World) -> None:
    lease = suspending(world, on_end="give_back")
    world.boot(lease)
    world.cloud.servers.take_to("suspend", 24 * HOUR)
    run_until(world, world.hour(3) + WAIT + timedelta(seconds=5))
    assert world.status(lease) == "TERMINATED"
    assert (there(world), shown(world, lease)) == ({"server": "SUSPENDING"}, [("server", "failed", LATE)])
    assert "without 1 of the servers that it was to suspend" in world.reason(lease)


@pytest.mark.parametrize("asked", EVERY_TYPE, ids=["hosts", "instances", "flavors"])
def test_the_end_is_not_later_than_the_time_that_servers_live_on(world: World, asked: Mapping[str, Any]) -> None:
    lease = suspending(world, asked, grace_seconds=120)
    world.boot(lease)
    world.cloud.servers.take_to("suspend", 24 * HOUR)
    run_until(world, world.hour(3) + timedelta(seconds=125))
    assert (there(world), shown(world, lease)) == ({}, [("server", "failed", LATE)])
    check_over(world, lease)


def test_a_server_that_does_not_run_is_left_as_it_is_and_one_in_error_is_said(world: World) -> None:
    lease = suspending(world)
    for name, status in (("broken", "ERROR"), ("stopped", "SHUTOFF"), ("well", "ACTIVE")):
        world.boot(lease, name=name)
        world.execute(update(servers).where(servers.c.name == name).values(status=status))
    run_until(world, world.hour(3.1))
    assert there(world) == {"broken": "ERROR", "stopped": "SHUTOFF", "well": "SUSPENDED"}
    results = [("broken", "failed", NOT_SUSPENDED), ("stopped", "done", NOT_RUNNING), ("well", "done", None)]
    assert shown(world, lease) == results
    run_until(world, world.hour(5.1))
    assert shown(world, lease) == results
    assert "without 1 of the servers" in world.reason(lease)
    check_over(world, lease)


def test_a_server_that_its_owner_deletes_meanwhile_is_forgotten(world: World) -> None:
    lease = suspending(world)
    server = world.boot(lease)
    world.boot(lease, name="other")
    world.cloud.servers.take_to("suspend", 300)
    run_until(world, world.hour(3.05))
    assert shown(world, lease) == [("other", "waiting", None), ("server", "waiting", None)]
    world.cloud.servers.delete(server.id)
    run_until(world, world.hour(3.2))
    assert (there(world), shown(world, lease)) == ({"other": "SUSPENDED"}, [("other", "done", None)])


@pytest.mark.parametrize("asked", EVERY_TYPE, ids=["hosts", "instances", "flavors"])
def test_whoever_deletes_a_lease_deletes_its_servers(world: World, asked: Mapping[str, Any]) -> None:
    lease = suspending(world, asked)
    world.boot(lease)
    world.cloud.servers.take_to("suspend", HOUR)
    run_until(world, world.hour(3.01))
    assert there(world) == {"server": "SUSPENDING"}
    world.delete(lease)
    run_for(world, minutes=5)
    assert there(world) == {}
    assert not world.exists(lease)


def test_where_nothing_lives_on_the_operators_default_suspends_nothing(world: World) -> None:
    world = world.with_settings(cloud=replace(world.service.settings.cloud, default_before_end=EndAction.SUSPEND))
    deleted, kept = world.active(hosts(), end=3), world.active(hosts(**RECYCLE), end=3)
    world.boot(deleted, name="deleted")
    world.boot(kept, name="kept")
    run_until(world, world.hour(3.1))
    assert there(world) == {"kept": "SUSPENDED"}
    assert (shown(world, deleted), shown(world, kept)) == ([], [("kept", "done", None)])
    check_over(world, deleted)


# ------------------------------------------------------------ what cannot be asked for


@pytest.mark.parametrize(
    "asked",
    [
        *({**each, **SUSPEND} for each in EVERY_TYPE),
        hosts(**SUSPEND, on_end="recycle", recycle_seconds=60, grace_seconds=-1),
        floating_ips(**SUSPEND),
        hosts(before_end=["suspend", "shelve"], **RECYCLE),
        hosts(before_end=["suspend", "suspend"], **RECYCLE),
        hosts(before_end=["suspend", "default"], **RECYCLE),
        hosts(before_end=[["suspend"]], **RECYCLE),
        instances(before_end=["snapshot", "shelve"]),
    ],
)
def test_what_cannot_be_is_refused(world: World, asked: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        world.lease(asked)
    field = "grace_seconds" if asked.get("grace_seconds") else "before_end"
    assert refused.value.field == f"reservations[0].{field}"


@pytest.mark.parametrize("asked", EVERY_TYPE, ids=["hosts", "instances", "flavors"])
def test_an_ending_that_excludes_it_is_refused_later_too(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.lease({**asked, **SUSPEND, "grace_seconds": 60}, start=1, end=2)
    with pytest.raises(InvalidInputError) as refused:
        world.amend(lease, {"grace_seconds": 0})
    assert refused.value.field == "reservations[0].before_end"
    world.amend(lease, {"grace_seconds": 0, "before_end": "snapshot"})
    with pytest.raises(InvalidInputError):
        world.amend(lease, {"before_end": ["suspend", "snapshot"]})
    after = world.amend(lease, {"before_end": ["suspend", "snapshot"], "grace_seconds": 60})
    seen = dict(show_reservation(after.reservations[0], world.service.types, V1_3))
    assert seen["before_end"] == ["snapshot", "suspend"]
    world.amend(lease, {"grace_seconds": 61})


def test_a_resumed_server_of_the_sandbox_was_suspended(world: World) -> None:
    server = world.boot(suspending(world))
    with pytest.raises(CloudTransientError, match="not suspended"):
        resume(world.cloud.servers, server.id)
