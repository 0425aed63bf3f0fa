"""Which events there are: everything that happens to a lease, and for operators to resources (features D4, D7, D8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.leasing.reading.event_log import latest, read_events, sequence_events
from leasehold.model.errors import NotEnoughError
from leasehold.model.event_log import BEGINNING, AlarmNews, EventFilter, LeaseNews, ResourceNews, ServerNews
from leasehold.model.states import EventType
from tests.factory import (
    change_host,
    floating_ips,
    hosts,
    instances,
    remove_host,
    run_for,
    run_manager,
    run_until,
    run_until_refused_often,
)
from tests.jobs import job_of

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World


def news(world: World) -> list[tuple[str, str, dict[str, Any]]]:
    """Return type, id and payload of the events of resources, in order."""
    query = select(outbox).where(outbox.c.resource_id.is_not(None)).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        return [(row.event_type, row.resource_id, row.payload) for row in connection.execute(query)]


def since(world: World, lease: Lease, number: int) -> list[str]:
    """Return the types of a lease's events after the first ones."""
    return [kind for kind, _ in world.told(lease)][number:]


# ---------------------------------------------------------------- leases


def test_the_deletion_of_an_active_lease_begins_and_is_done(world: World) -> None:
    lease = world.active(hosts())
    told = len(world.told(lease))
    world.delete(lease)
    assert since(world, lease, told) == ["lease.deleting"]
    world.delete(lease)
    run_manager(world)
    assert world.told(lease)[told:] == [("lease.deleting", "DELETING"), ("lease.delete", "DELETING")]


def test_a_new_name_is_an_event_and_the_same_name_is_none(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    world.amend(lease, name="lease")
    assert since(world, lease, 1) == []
    world.amend(lease, name="another")
    assert since(world, lease, 1) == ["lease.renamed"]


def test_a_start_that_fails_is_told_once_and_again_when_it_succeeds(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=3)
    run_until_refused_often(world)
    failed = [("lease.create", "PENDING"), ("lease.starting", "STARTING"), ("lease.event.start_lease", "ERROR")]
    assert world.told(lease) == failed
    world.cloud.faults.clear()
    run_for(world, minutes=6)
    assert world.told(lease) == [*failed, ("lease.event.start_lease", "ACTIVE")]


@pytest.mark.slow
def test_a_warning_that_fails_is_told_once_and_again_when_it_is_done(world: World) -> None:
    lease = world.lease(hosts(before_end="snapshot"), end=4)
    run_manager(world)
    world.boot(lease)
    told = len(world.told(lease))
    world.refuse("images.of_reservation")
    run_until(world, world.hour(3.2))
    assert world.event(lease, EventType.BEFORE_END).status == "ERROR"
    assert since(world, lease, told) == ["lease.event.before_end_lease", "lease.warning.failed"]
    world.cloud.faults.clear()
    run_until(world, world.hour(3.5))
    assert since(world, lease, told + 2) == ["lease.warning.done"]


def test_healing_is_told_with_the_flags(world: World) -> None:
    lease = world.active(hosts(), end=3)
    told = len(world.told(lease))
    world.fail("cmp-01")
    assert since(world, lease, told) == ["lease.healed", "lease.degraded"]
    sequence_events(world.service)
    event = read_events(world.service, EventFilter("demo", lease.id), None, 100).events[-1]
    (part,) = event.payload["reservations"]
    assert (part["resources_changed"], part["missing_resources"], event.payload["degraded"]) == (True, False, True)
    run_manager(world)
    assert since(world, lease, told + 2) == ["lease.released"]


def test_a_refused_request_is_no_event(world: World) -> None:
    with pytest.raises(NotEnoughError):
        world.lease(hosts(50))
    assert {kind for kind, _, _ in news(world)} == {"resource.enrolled"}


# ---------------------------------------------------------------- resources


def test_what_happens_to_a_resource_is_an_event(world: World) -> None:
    begun = len(news(world))
    assert {(kind, payload["health"]) for kind, _, payload in news(world)} == {("resource.enrolled", "healthy")}
    (host,) = [each for each in world.listed() if each.properties["rack"] == "r1" and each.label == "cmp-01"]
    change_host(world.service, host.id, {"rack": "b2", "row": None})
    world.fail("cmp-01")
    world.fail("cmp-01")
    world.recover("cmp-01")
    remove_host(world.service, host.id)
    told = news(world)[begun:]
    assert [(kind, payload["health"], payload["reservable"]) for kind, _, payload in told] == [
        ("resource.changed", "healthy", True),
        ("resource.health", "failed", False),
        ("resource.health", "healthy", False),
        ("resource.health", "healthy", True),
        ("resource.removed", "healthy", False),
    ]
    assert {ident for _, ident, _ in told} == {host.id}
    assert told[0][2]["properties"] == {**host.properties, "rack": "b2"}


# ---------------------------------------------------------------- the log


def test_the_manager_puts_events_in_order(world: World, caplog: pytest.LogCaptureFixture) -> None:
    leases = [world.lease(*parts, start=1, end=2) for parts in ((hosts(),), (instances(),), (floating_ips(),))]
    assert latest(world.service) == BEGINNING
    job_of(world.service, "sequencer").run_once()
    page = read_events(world.service, EventFilter("demo"), None, 2)
    assert [event.lease_id for event in page.events] == [lease.id for lease in leases[:2]]
    assert page.next == page.events[-1].cursor
    page = read_events(world.service, EventFilter("demo"), page.next, 2)
    assert ([event.lease_id for event in page.events], page.next) == ([leases[2].id], latest(world.service))
    assert sequence_events(world.service) == 0
    assert not caplog.records


def test_our_own_names_differ_from_those_of_blazar() -> None:
    """Contract lifecycle §9: a consumer that knows only these names must not take ours for one of them."""
    blazars = {"lease.create", "lease.update", "lease.delete"}
    ours = {*LeaseNews, *ResourceNews, *AlarmNews, *ServerNews}
    assert not {name for name in ours if name in blazars or name.startswith("lease.event.")}
    assert max(map(len, ours)) <= 66  # What the column holds.
