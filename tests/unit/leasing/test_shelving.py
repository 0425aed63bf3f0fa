"""Feature E6: servers are shelved when their lease ends, and none is lost (decision 0065)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, literal, select, update

from leasehold.api.versions import V1_1, V1_2
from leasehold.cloud.ports import CloudPermanentError
from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.images import SERVICE
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, servers
from leasehold.db.tables import outbox
from leasehold.model.errors import InvalidInputError
from leasehold.model.terms.end_action import EndAction
from leasehold.resource_types.end_actions.image_results import NOT_HANDED_OVER
from leasehold.resource_types.end_actions.shelve import LATE, NOT_SHELVED
from tests import owners
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import at_call, dies_at, flavors, hosts, instances, run_for, run_manager, run_until
from tests.unit.leasing.looking import findings, in_database
from tests.unit.leasing.showing import show_reservation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Server
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

WAIT = timedelta(minutes=30)
SHELVE: dict[str, Any] = {"before_end": "shelve"}
OFFLOADED = "SHELVED_OFFLOADED"


@pytest.fixture
def world(world: World) -> World:
    """Return the world with a manager that waits half an hour for servers to be shelved."""
    return world.with_end_waits(shelve=WAIT)


def shelving(world: World, least: int = 1, **more: Any) -> Lease:
    """Return an active lease of hosts whose servers are to be shelved, from hour 0 to 3; its warning is at hour 2."""
    return world.active(hosts(least, **SHELVE, **more), end=3)


def there(world: World) -> dict[str, tuple[str, bool]]:
    """Return the status of each server by name, and whether it is on a host."""
    found = world.cloud.servers.all()
    return {each.name: (each.status, each.service_host is not None) for each in found if each.status != "DELETING"}


def shown(world: World, lease: Lease) -> list[tuple[str, str, str | None]]:
    """Return the name, the status and the reason of each result, as owners see them."""
    seen: Any = show_reservation(world.part(lease), world.service.types, V1_2)
    return sorted((each["server_name"], each["status"], each["reason"]) for each in seen["shelved"])


def told(world: World, event_type: str) -> Any:
    """Return what the last event of a type says of servers; None if it says nothing."""
    wanted = select(outbox.c.payload).where(outbox.c.event_type == event_type).order_by(outbox.c.id.desc())
    with world.service.db.reading() as connection:
        return connection.execute(wanted.limit(1)).scalar_one().get("shelved")


def audited(world: World) -> list[str]:
    return [each.what for each in (*in_database(world), *findings(world))]


def unshelve(world: World, server: Server) -> Server:
    return owners.unshelve(world.cloud.servers, server.id)


def check_over(world: World, lease: Lease) -> None:
    """Check that the lease has ended completely, and that its hosts are free."""
    assert world.status(lease) == "TERMINATED"
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None
    assert world.members("freepool") == {host.attributes["service_name"] for host in world.listed()}
    assert not world.cloud.providers.claimed([host.label for host in world.listed()])
    assert not audited(world)


# ------------------------------------------------------------ what happens at the end


def test_servers_run_until_the_end_and_can_be_unshelved_afterwards(world: World) -> None:
    lease = shelving(world, 2)
    booted = {name: world.boot(lease, name=name) for name in ("one", "two", "three")}
    run_until(world, world.hour(3) - timedelta(seconds=1))
    assert there(world) == dict.fromkeys(booted, ("ACTIVE", True))
    assert (shown(world, lease), told(world, "lease.warning.done")) == ([], None)
    run_until(world, world.hour(3.1))
    assert there(world) == dict.fromkeys(booted, (OFFLOADED, False))
    assert shown(world, lease) == [(name, "done", None) for name in sorted(booted)]
    assert world.reason(lease) == ""
    answer: Any = show_reservation(world.part(lease), world.service.types, V1_2)
    seen = answer["shelved"]
    part = lease.reservations[0].id
    assert told(world, "lease.event.end_lease") == [{"reservation_id": part, **each} for each in seen]
    assert "shelved" not in show_reservation(world.part(lease), world.service.types, V1_1)
    check_over(world, lease)
    ours = {host.attributes["service_name"] for host in world.listed()}
    for server in booted.values():
        (image,) = world.cloud.images.of_server(server.id)
        assert image.project_id == lease.project_id
        back = unshelve(world, server)
        assert (back.status, back.service_host in ours) == ("ACTIVE", False)
        assert not world.cloud.images.of_server(server.id)
    assert world.status(world.active(hosts(len(world.listed())), start=3.1, end=4)) == "ACTIVE"


def test_the_end_waits_for_servers_and_nothing_comes_to_the_hosts_meanwhile(world: World) -> None:
    lease = shelving(world)
    first = world.boot(lease, name="first")
    run_until(world, world.hour(2.9))
    world.cloud.servers.take_to("shelve", 1200)
    world.boot(lease, name="second")
    world.cloud.servers.shelve(first.id)
    run_until(world, world.hour(3.3))
    assert there(world) == {"first": (OFFLOADED, False), "second": ("SHELVING", True)}
    assert shown(world, lease) == [("first", "done", None), ("second", "waiting", None)]
    until = f"{world.hour(3.5):%Y-%m-%d %H:%M}"
    assert world.reason(lease) == (
        f"Waiting for the cloud: 1 servers are being shelved; the end waits until {until} UTC at most."
    )
    assert not findings(world)
    hint = [lease.reservations[0].id]
    assert world.cloud.servers.boot("late", "demo", "m1.small", hint).status == "ERROR"
    # The reservation is not over yet, so its hint counts; and no server may come back to a host that it is leaving.
    with pytest.raises(CloudPermanentError, match="No valid host"):
        unshelve(world, first)
    run_until(world, world.hour(3.5))
    assert shown(world, lease) == [("first", "done", None), ("second", "done", None)]
    check_over(world, lease)
    assert unshelve(world, first).status == "ACTIVE"


def test_what_is_not_shelved_in_time_is_deleted_and_said(world: World) -> None:
    lease = shelving(world)
    for name in ("quick", "slow"):
        world.boot(lease, name=name)
    quick = world.cloud.servers.find("quick")[0]
    run_until(world, world.hour(2.9))
    world.cloud.servers.shelve(quick.id)
    world.cloud.servers.take_to("shelve", 24 * 3600)
    run_until(world, world.hour(3.6))
    assert there(world) == {"quick": (OFFLOADED, False)}
    assert shown(world, lease) == [("quick", "done", None), ("slow", "failed", LATE)]
    assert "without 1 of the servers that it was to shelve" in world.reason(lease)
    check_over(world, lease)


def test_a_server_that_is_shelved_is_never_deleted_however_long_it_stays(world: World) -> None:
    lease = shelving(world)
    world.boot(lease)
    world.refuse("servers.offload")
    run_until(world, world.hour(10))
    assert (world.status(lease), there(world)) == ("TERMINATING", {"server": ("SHELVED", True)})
    assert "1 servers are being shelved." in world.reason(lease)
    world.cloud.faults.clear()
    run_for(world, hours=1)
    assert (there(world), shown(world, lease)) == ({"server": (OFFLOADED, False)}, [("server", "done", None)])
    check_over(world, lease)


def test_a_server_in_error_is_not_waited_for(world: World) -> None:
    lease = shelving(world)
    for name in ("broken", "well"):
        world.boot(lease, name=name)
    world.execute(update(servers).where(servers.c.name == "broken").values(status="ERROR"))
    run_until(world, world.hour(3.05))
    assert there(world) == {"well": (OFFLOADED, False)}
    assert shown(world, lease) == [("broken", "failed", NOT_SHELVED), ("well", "done", None)]
    assert "without 1 of the servers" in world.reason(lease)
    check_over(world, lease)


def test_a_server_that_its_owner_deletes_meanwhile_is_forgotten(world: World) -> None:
    lease = shelving(world)
    server = world.boot(lease)
    world.cloud.servers.take_to("shelve", 600)
    run_until(world, world.hour(3.05))
    assert shown(world, lease) == [("server", "waiting", None)]
    world.cloud.servers.delete(server.id)
    run_until(world, world.hour(3.2))
    assert (there(world), shown(world, lease)) == ({}, [])
    check_over(world, lease)


def test_a_boot_that_lands_while_the_hosts_are_left_is_not_deleted_but_shelved(world: World) -> None:
    lease = shelving(world)
    order = BootOrder("landing", "demo", "m1.small", (lease.reservations[0].id,))
    run_until(world, world.hour(2.9))
    boot = claim_boot(world.cloud.servers, begin_boot(world.cloud.servers, order))
    world.clock.set(world.hour(3))
    at_call(world, 1, lambda: run_manager(world), lambda: land_boot(world.cloud.servers, boot), "providers.claim_rest")
    run_until(world, world.hour(3.1))
    assert there(world) == {"landing": (OFFLOADED, False)}
    assert shown(world, lease) == [("landing", "done", None)]
    check_over(world, lease)


def test_the_servers_of_a_host_that_was_put_into_the_aggregate_by_hand_are_left_alone(world: World) -> None:
    lease = shelving(world)
    server = world.boot(lease)
    stranger = world.cloud.servers.boot("stranger", "alt", "m1.small")
    host, name = str(stranger.service_host), lease.reservations[0].id
    assert host not in world.members("freepool")
    world.execute(
        insert(aggregate_hosts).from_select(
            ["aggregate_id", "service_host"],
            select(aggregates.c.id, literal(host)).where(aggregates.c.name == name),
        )
    )
    run_until(world, world.hour(3.2))
    found = {each.name: each.status for each in world.cloud.servers.all()}
    assert found == {"server": OFFLOADED, "stranger": "ACTIVE"}
    assert "was put into aggregate" in world.reason(lease)
    assert server.id in {each["server_id"] for each in world.part(lease).cloud["shelved"]}


# ------------------------------------------------------------ failures


@pytest.mark.parametrize("verb", ["servers.*", "images.*", "aggregates.*", "providers.*"])
@pytest.mark.parametrize("error", ["before", "after", "half"])
def test_no_server_is_lost_when_calls_fail(world: World, verb: str, error: Any) -> None:
    lease = shelving(world)
    world.boot(lease)
    run_until(world, world.hour(2.9))
    world.cloud.faults.set(Fault(verb, error=error, remaining=5))
    run_until(world, world.hour(3.3))
    assert (there(world), shown(world, lease)) == ({"server": (OFFLOADED, False)}, [("server", "done", None)])
    assert [image.project_id for image in world.cloud.images.of_server(world.servers().pop())] == [lease.project_id]
    check_over(world, lease)


@pytest.mark.parametrize("number", range(1, 20))
def test_no_server_is_lost_when_a_manager_dies(world: World, number: int) -> None:
    lease = shelving(world)
    world.boot(lease)
    run_until(world, world.hour(2.9))

    dies_at(world, number, lambda: run_until(world, world.hour(3.05)))
    run_until(world, world.hour(3.4))
    assert (there(world), shown(world, lease)) == ({"server": (OFFLOADED, False)}, [("server", "done", None)])
    check_over(world, lease)


def test_an_image_that_is_refused_to_its_project_is_waited_for_and_said(world: World) -> None:
    lease = shelving(world)
    server = world.boot(lease)
    world.refuse("images.hand_over")
    run_until(world, world.hour(3.1))
    assert (world.status(lease), shown(world, lease)) == ("TERMINATING", [("server", "waiting", None)])
    run_until(world, world.hour(3.6))
    assert shown(world, lease) == [("server", "done", NOT_HANDED_OVER)]
    assert [image.project_id for image in world.cloud.images.of_server(server.id)] == [SERVICE]
    check_over(world, lease)
    assert unshelve(world, server).status == "ACTIVE"


# ------------------------------------------------------------ other ends


def test_whoever_deletes_a_lease_deletes_its_servers_but_not_what_is_shelved_already(world: World) -> None:
    lease = shelving(world)
    for name in ("running", "shelving", "shelved"):
        world.boot(lease, name=name)
    ids = {server.name: server.id for server in world.cloud.servers.all()}
    world.cloud.servers.shelve(ids["shelved"])
    world.cloud.servers.take_to("shelve", 300)
    world.cloud.servers.shelve(ids["shelving"])
    world.delete(lease)
    run_for(world, minutes=10)
    assert not world.exists(lease)
    assert there(world) == {"shelved": (OFFLOADED, False), "shelving": (OFFLOADED, False)}
    assert not audited(world)


@pytest.mark.parametrize(
    "ending", [{"grace_seconds": 3600}, {"on_end": "recycle", "recycle_seconds": 3600}], ids=["grace", "recycle"]
)
def test_servers_that_live_on_are_shelved_when_that_is_over(world: World, ending: dict[str, Any]) -> None:
    lease = shelving(world, **ending)
    world.boot(lease)
    world.cloud.servers.take_to("shelve", 1200)
    run_until(world, world.hour(3.9))
    assert there(world) == {"server": ("ACTIVE", True)}
    run_until(world, world.hour(4.2))
    assert there(world) == {"server": ("SHELVING", True)}
    run_until(world, world.hour(4.5))
    assert (there(world), shown(world, lease)) == ({"server": (OFFLOADED, False)}, [("server", "done", None)])
    check_over(world, lease)


def test_a_lease_that_ends_early_has_its_servers_shelved(world: World) -> None:
    lease = shelving(world)
    world.boot(lease)
    run_until(world, world.hour(1))
    world.amend(lease, end=1)
    run_for(world, minutes=2)
    assert there(world) == {"server": (OFFLOADED, False)}
    check_over(world, lease)


def test_the_operators_default_counts_where_a_request_names_none_and_not_where_hosts_are_given_back(
    world: World,
) -> None:
    world = world.with_settings(cloud=replace(world.service.settings.cloud, default_before_end=EndAction.SHELVE))
    lease, given = world.active(hosts(), end=3), world.active(hosts(on_end="give_back"), end=3)
    world.boot(lease, name="shelved")
    world.boot(given, name="given")
    run_until(world, world.hour(3.1))
    assert there(world) == {"shelved": (OFFLOADED, False), "given": ("ACTIVE", True)}
    assert [world.status(each) for each in (lease, given)] == ["TERMINATED"] * 2


# ------------------------------------------------------------ what cannot be asked for


@pytest.mark.parametrize(
    "asked", [instances(**SHELVE), flavors(**SHELVE), hosts(**SHELVE, on_end="give_back"), hosts(before_end="freeze")]
)
def test_what_cannot_be_is_refused(world: World, asked: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        world.lease(asked)
    assert refused.value.field == "reservations[0].before_end"


def test_an_ending_that_excludes_it_is_refused_later_too(world: World) -> None:
    lease = world.lease(hosts(**SHELVE), start=1, end=2)
    with pytest.raises(InvalidInputError) as refused:
        world.amend(lease, {"on_end": "give_back"})
    assert refused.value.field == "reservations[0].before_end"
    world.amend(lease, {"on_end": "give_back", "before_end": "snapshot"})
    with pytest.raises(InvalidInputError):
        world.amend(lease, {"before_end": "shelve"})
