"""Feature E10: what a lease does not use is released some time after its start, and its owner is warned first."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import outbox, segments
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import from_seconds
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import (
    ALT,
    START,
    at_call,
    flavors,
    floating_ips,
    hosts,
    instances,
    killed_in_a_step,
    run_for,
    run_manager,
    run_until,
)
from tests.selection import part_of_product
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings, in_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.sandbox.faults import Moment
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

SECONDS = 1200
NO_SHOW: dict[str, Any] = {"no_show_seconds": SECONDS}
WARNED, RELEASED = "lease.no_show_warned", "lease.no_show_released"
TWO: tuple[Mapping[str, Any], ...] = (
    hosts(2, **NO_SHOW),
    instances(2, affinity=False, **NO_SHOW),
    flavors(4, "m1.xlarge", **NO_SHOW),
)


def news(world: World, lease: Lease, kind: str) -> list[Any]:
    """Return what the events of a kind say of the reservations, oldest first."""
    query = select(outbox.c.payload).where(outbox.c.lease_id == lease.id, outbox.c.event_type == kind)
    with world.service.db.reading() as connection:
        return [row.payload["unused"] for row in connection.execute(query.order_by(outbox.c.id))]


def checked(world: World) -> None:
    """Check that the database and the cloud agree, and that nothing of a release is left."""
    audit(world)
    assert not [*in_database(world), *findings(world)]
    assert not world.cloud.providers.claimed([each.label for each in world.listed()])


def label_of(world: World, service_host: str | None) -> str:
    return next(each.label for each in world.listed() if each.attributes["service_name"] == service_host)


@pytest.mark.parametrize("asked", TWO[:2])
def test_what_is_not_used_is_free_at_once_and_what_is_used_stays(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=5)
    both = world.holds(lease)
    used = label_of(world, world.boot(lease).service_host)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    assert world.holds(lease) == both
    run_for(world, seconds=1)
    assert world.holds(lease) == {used: 1}
    assert world.status(lease) == "ACTIVE"
    checked(world)
    unused = next(iter(both.keys() - {used}))
    world.disable(*(each.label for each in world.listed() if each.label != unused))
    other = world.active(hosts(), start=0.5, end=5, caller=ALT)
    run_until(world, world.hour(0.5))
    assert (world.status(other), world.holds(other)) == ("ACTIVE", {unused: 1})
    run_until(world, world.hour(4.9))
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {used: 1})
    assert len(world.servers()) == 1
    checked(world)
    run_until(world, world.hour(5))
    assert (world.status(lease), world.status(other)) == ("TERMINATED", "TERMINATED")
    checked(world)


def test_the_owner_is_warned_first(world: World) -> None:
    lease = world.active(hosts(2, **NO_SHOW), end=2)
    world.boot(lease)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS / 2 - 1))
    assert not news(world, lease, WARNED)
    run_for(world, seconds=1)
    shown = {"reservation_id": lease.reservations[0].id, "resource_type": HOST, "amount": 1}
    until = (world.hour(0) + timedelta(seconds=SECONDS)).isoformat()
    assert news(world, lease, WARNED) == [[{**shown, "released_at": until}]]
    run_until(world, world.hour(1))
    assert len(news(world, lease, WARNED)) == 1
    assert news(world, lease, RELEASED) == [[shown]]


def test_nobody_is_told_of_a_lease_that_is_used(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=2)
    world.boot(lease)
    run_until(world, world.hour(1))
    assert not [*news(world, lease, WARNED), *news(world, lease, RELEASED)]
    assert len(world.holds(lease)) == 1


def test_a_server_after_the_warning_keeps_its_host(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=2)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 10))
    world.boot(lease)
    run_until(world, world.hour(1))
    assert (world.status(lease), len(world.holds(lease))) == ("ACTIVE", 1)
    assert not news(world, lease, RELEASED)


def test_a_server_that_was_there_at_the_warning_counts_although_it_is_gone(world: World) -> None:
    lease = world.active(hosts(2, **NO_SHOW), end=2)
    server = world.boot(lease)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 10))
    world.cloud.servers.delete(server.id)
    run_until(world, world.hour(1))
    assert world.holds(lease) == {label_of(world, server.service_host): 1}


@pytest.mark.parametrize("asked", [*TWO, hosts(1, 3, **NO_SHOW)])
def test_a_lease_that_nobody_used_ends(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=5)
    asked_for = world.part(lease).request
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS))
    assert (world.status(lease), world.holds(lease)) == ("TERMINATED", {})
    assert world.get(lease).window.end == world.hour(0) + timedelta(seconds=SECONDS)
    assert world.part(lease).request == asked_for
    assert [kind for kind, _ in world.told(lease)][-3:] == [RELEASED, "lease.ending", "lease.event.end_lease"]
    assert not world.cloud.aggregates.get(lease.reservations[0].id)
    checked(world)


def test_a_lease_goes_on_while_it_has_something_that_is_used(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), hosts(1), end=2)
    run_until(world, world.hour(1))
    assert (world.status(lease), world.holds(lease), len(world.holds(lease, 1))) == ("ACTIVE", {}, 1)
    checked(world)
    # It can be extended, and get hosts again.
    world.amend(lease, end=3)
    run_until(world, world.hour(1.1))
    assert (world.holds(lease), len(world.holds(lease, 1))) == ({}, 1)
    world.amend(lease, {"no_show_seconds": 0})
    world.amend(lease, {"min": 1, "max": 1})
    run_until(world, world.hour(2))
    assert (len(world.holds(lease)), len(world.holds(lease, 1))) == (1, 1)
    checked(world)
    run_until(world, world.hour(3))
    assert world.status(lease) == "TERMINATED"


def test_a_lease_with_addresses_keeps_them(world: World) -> None:
    lease = world.active(instances(1, **NO_SHOW), floating_ips(1), end=2)
    run_until(world, world.hour(1))
    assert (world.status(lease), world.holds(lease), len(world.holds(lease, 1))) == ("ACTIVE", {}, 1)
    checked(world)


def test_a_boot_that_is_on_its_way_keeps_its_host(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=2)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    servers = world.cloud.servers
    hint = (lease.reservations[0].id,)
    early, late = (begin_boot(servers, BootOrder(name, "demo", "m1.small", hint, preemptible=False)) for name in "ab")
    early = claim_boot(servers, early)
    run_for(world, seconds=1)
    assert len(world.holds(lease)) == 1
    checked(world)
    land_boot(servers, claim_boot(servers, late))
    land_boot(servers, early)
    run_until(world, world.hour(1))
    assert (world.status(lease), len(world.holds(lease)), len(world.servers())) == ("ACTIVE", 1, 2)
    assert not news(world, lease, RELEASED)


def test_a_boot_that_has_only_passed_the_scheduler_does_not_land_on_a_host_that_was_released(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=2)
    servers = world.cloud.servers
    order = BootOrder("late", "demo", "m1.small", (lease.reservations[0].id,), preemptible=False)
    booting: list[Any] = []
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))

    def boot() -> None:
        booting.append(claim_boot(servers, begin_boot(servers, order)) if not booting else None)

    world.clock.advance(seconds=1)
    at_call(world, 1, lambda: run_manager(world), boot, "aggregates.add_host")
    assert booting[0].server.status == "ERROR"
    assert world.status(lease) == "TERMINATED"


def test_a_boot_of_slots_that_is_on_its_way_keeps_its_host(world: World) -> None:
    lease = world.active(instances(2, affinity=False, **NO_SHOW), end=2)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    servers = world.cloud.servers
    boot = claim_boot(
        servers, begin_boot(servers, BootOrder("late", "demo", lease.reservations[0].id, (), preemptible=False))
    )
    run_for(world, seconds=1)
    assert world.holds(lease) == {label_of(world, boot.server.service_host): 1}
    land_boot(servers, boot)
    run_until(world, world.hour(1))
    assert (world.status(lease), len(world.servers())) == ("ACTIVE", 1)
    checked(world)


CALLS_OF_A_RELEASE = {
    "hosts": (
        "servers.on_hosts",
        "providers.claim_rest",
        "aggregates.add_host",
        "aggregates.remove_host",
        "providers.release_claims",
    ),
    "instances": (
        "servers.with_flavor",
        "providers.usages",
        "providers.remove_inventory",
        "aggregates.remove_host",
    ),
}
CALLS = [f"{kind} {verb}" for kind, verbs in CALLS_OF_A_RELEASE.items() for verb in verbs]


@pytest.mark.parametrize(
    ("call", "used", "error"), part_of_product(CALLS, [False, True], ["before", "after"], one_in=2)
)
def test_a_host_is_released_only_when_all_its_calls_succeeded(
    world: World, call: str, error: Moment, *, used: bool
) -> None:
    kind, verb = call.split()
    asked = TWO[0] if kind == "hosts" else TWO[1]
    lease = world.active(asked, end=5)
    if used:
        world.boot(lease)
    held = world.holds(lease)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    world.cloud.faults.set(Fault(verb, error=error))
    run_for(world, minutes=2)
    if error == "before":
        assert (world.status(lease), world.holds(lease)) == ("ACTIVE", held)
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert len(world.holds(lease)) == int(used)
    assert world.status(lease) == ("ACTIVE" if used else "TERMINATED")
    assert sum(part["amount"] for told in news(world, lease, RELEASED) for part in told) == 2 - int(used)
    checked(world)
    run_until(world, world.hour(5))
    assert (world.status(lease), world.reason(lease)) == ("TERMINATED", "")
    checked(world)


@pytest.mark.parametrize(
    ("verb", "then"),
    part_of_product(
        ["providers.claim_rest", "aggregates.add_host", "aggregates.remove_host", "providers.release_claims"],
        ["released", "amended", "never", "used", "deleted", "ended"],
    ),
)
def test_whoever_dies_in_a_release_leaves_nothing_behind(world: World, verb: str, then: str) -> None:
    lease = world.active(hosts(2, **NO_SHOW), end=5)
    world.boot(lease)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    world.clock.advance(seconds=1)
    killed_in_a_step(world, verb)
    if then == "amended":
        world.amend(lease, {"max": 3})
    elif then == "never":
        world.amend(lease, {"no_show_seconds": 0})
    elif then == "deleted":
        world.delete(lease)
    elif then == "ended":
        world.amend(lease, end=0.35)
    run_for(world, minutes=1.5)
    if then == "used":
        world.boot(lease, name="other") if len(world.holds(lease)) == 2 else None
    run_for(world, minutes=1)
    checked(world)
    if then in ("released", "used", "amended", "never"):
        assert len(world.holds(lease)) == {"released": 1, "used": 1, "amended": 3, "never": 2}[then]
    assert len(world.servers()) == int(then not in ("deleted", "ended"))


def test_an_owner_who_amends_during_the_release_keeps_the_hosts(world: World) -> None:
    lease = world.active(hosts(2, **NO_SHOW), end=5)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    world.clock.advance(seconds=1)
    done: list[Lease] = []

    def amend() -> None:
        if not done:
            done.append(world.amend(lease, {"no_show_seconds": 3600}))

    at_call(world, 1, lambda: run_manager(world), amend, "aggregates.remove_host")
    assert len(world.holds(lease)) == 2
    checked(world)
    # The new time counts from now on.
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS + 3599))
    assert len(world.holds(lease)) == 2
    run_for(world, seconds=1)
    assert world.status(lease) == "TERMINATED"
    checked(world)


def test_a_release_that_outlasts_the_lease_does_not_move_its_end(world: World) -> None:
    end = SECONDS / 3600 + 0.01
    lease = world.active(hosts(2, **NO_SHOW), end=end)
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS - 1))
    world.clock.advance(seconds=1)
    at_call(world, 1, lambda: run_manager(world), lambda: world.clock.advance(minutes=5), "aggregates.remove_host")
    run_manager(world)
    assert news(world, lease, RELEASED)
    assert (world.status(lease), world.get(lease).window) == ("TERMINATED", lease.window)
    checked(world)


@pytest.mark.parametrize("asked", TWO[:2])
def test_a_server_that_is_booted_at_any_call_of_a_release_is_refused_or_keeps_its_host(
    world: World, asked: Mapping[str, Any]
) -> None:
    """No host is released with a server on it, and no server is lost."""
    for number in itertools.count(1):
        moment = world.now()
        hours = (moment - START) / timedelta(hours=1)
        lease = world.active(asked, start=hours, end=hours + 9)
        run_until(world, moment + timedelta(seconds=SECONDS - 1))
        world.clock.advance(seconds=1)
        flavor, hints = ("m1.small", [lease.reservations[0].id]) if asked == TWO[0] else (lease.reservations[0].id, [])
        booted: list[Any] = []

        def boot(flavor: str = flavor, hints: Sequence[str] = hints, booted: list[Any] = booted) -> None:
            # A flavor that is gone with its lease is refused at once.
            with suppress(CloudError):
                booted.append(world.cloud.servers.boot("late", "demo", flavor, hints))

        if at_call(world, number, lambda: run_manager(world), boot) < number:
            break
        server = booted[0] if booted else None
        run_for(world, minutes=20)
        if server is None or server.service_host is None:
            assert (world.status(lease), world.holds(lease)) == ("TERMINATED", {})
        else:
            assert (world.status(lease), set(world.holds(lease))) == ("ACTIVE", {label_of(world, server.service_host)})
            assert server.id in world.servers()
        checked(world)
        world.delete(lease)
        run_for(world, minutes=5)
    assert number > 5


def test_healing_does_not_replace_what_was_given_up(world: World) -> None:
    lease = world.active(hosts(3, **NO_SHOW), end=5)
    first = world.boot(lease)
    others = [world.boot(lease, name=f"other-{number}") for number in range(9)]
    second = next(each for each in others if each.service_host != first.service_host)
    for each in world.cloud.servers.all():
        if each.service_host not in (first.service_host, second.service_host):
            world.cloud.servers.delete(each.id)
    run_until(world, world.hour(1))
    kept = {label_of(world, each.service_host) for each in (first, second)}
    assert set(world.holds(lease)) == kept
    world.heal()
    assert (set(world.holds(lease)), world.get(lease).degraded) == (kept, False)
    # One host is lost, and one takes its place.
    world.fail(label_of(world, first.service_host))
    run_for(world, minutes=5)
    assert (len(world.holds(lease)), world.part(lease).missing_resources) == (2, False)
    checked(world)


def test_what_healing_has_found_is_kept(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=5)
    server = world.boot(lease)
    run_for(world, minutes=1)
    world.fail(label_of(world, server.service_host))
    run_until(world, world.hour(1))
    assert len(world.holds(lease)) == 1
    assert not news(world, lease, RELEASED)
    checked(world)


@pytest.mark.parametrize("asked", TWO[:2])
def test_an_extension_is_of_what_is_left(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=2)
    world.boot(lease)
    run_until(world, world.hour(1))
    left = world.holds(lease)
    world.amend(lease, end=4)
    run_until(world, world.hour(3))
    assert (world.holds(lease), world.status(lease)) == (left, "ACTIVE")
    shown = world.part(lease).request
    assert {shown[key] for key in ("min", "max", "amount") if key in shown} == {1}
    # Whoever asks for more gets it, and has the time again to use it.
    more = {"amount": 2} if "amount" in shown else {"min": 2, "max": 2}
    world.amend(lease, more, end=4)
    run_for(world, seconds=SECONDS - 1)
    assert len(world.holds(lease)) == 2
    run_for(world, seconds=1)
    assert world.holds(lease) == left
    checked(world)


def test_a_lease_that_waits_gets_what_is_released(world: World) -> None:
    lease = world.active(hosts(len(world.listed()), **NO_SHOW), end=5)
    world.boot(lease)
    waits = world.lease(hosts(2), start=1, end=2, caller=ALT, type=LeaseType.WAITLIST, deadline=world.hour(3))
    assert world.status(waits) == "IN_PROGRESS"
    run_until(world, world.hour(0) + timedelta(seconds=SECONDS + 5))
    assert world.status(waits) == "PENDING"


def test_a_late_warning_leaves_half_of_the_time(world: World) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=5)
    world.clock.advance(hours=1)
    run_manager(world)
    assert len(news(world, lease, WARNED)) == 1
    run_for(world, seconds=SECONDS / 2 - 1)
    assert world.status(lease) == "ACTIVE"
    run_for(world, seconds=1)
    assert world.status(lease) == "TERMINATED"


def test_a_late_start_does_not_shorten_the_time(world: World) -> None:
    world.break_down()
    lease = world.active(hosts(1, **NO_SHOW), end=5)
    run_until(world, world.hour(1))
    world.cloud.faults.clear()
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "ACTIVE"
    since = world.event(lease, "start_lease").updated_at  # type: ignore[arg-type]
    assert since is not None
    assert since > world.hour(1)
    run_until(world, since + timedelta(seconds=SECONDS - 1))
    assert world.status(lease) == "ACTIVE"
    run_for(world, seconds=1)
    assert world.status(lease) == "TERMINATED"


@pytest.mark.parametrize("hours", [0.2, SECONDS / 3600])
def test_nothing_is_warned_of_that_the_end_comes_before(world: World, hours: float) -> None:
    lease = world.active(hosts(1, **NO_SHOW), end=hours)
    run_until(world, world.hour(1))
    assert not news(world, lease, WARNED)
    assert world.get(lease).window.end == world.hour(hours)


def test_a_lease_that_says_nothing_keeps_all_unless_the_operator_has_another_default(world: World) -> None:
    kept = world.active(hosts(1), end=5)
    settings = world.service.settings.leases
    strict = world.with_settings(leases=replace(settings, no_show=timedelta(hours=1)))
    usual, own, never = (strict.active(hosts(1, **asked), end=5) for asked in ({}, NO_SHOW, {"no_show_seconds": 0}))
    run_until(strict, strict.hour(0.9))
    assert [world.status(each) for each in (kept, usual, own, never)] == ["ACTIVE", "ACTIVE", "TERMINATED", "ACTIVE"]
    run_until(strict, strict.hour(1))
    assert [world.status(each) for each in (kept, usual, own, never)] == [
        "ACTIVE",
        "TERMINATED",
        "TERMINATED",
        "ACTIVE",
    ]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (299, "asks for 300 at least"),
        (-1, "no_show_seconds"),
        ("soon", "not a whole number"),
        (2**31, "no_show_seconds"),
    ],
)
def test_a_time_that_cannot_be_is_refused(world: World, seconds: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        world.lease(hosts(no_show_seconds=seconds))
    assert refused.value.field == "reservations[0].no_show_seconds"


def test_addresses_have_no_no_show(world: World) -> None:
    with pytest.raises(InvalidInputError, match="keep what they do not use"):
        world.lease(floating_ips(**NO_SHOW))


def test_the_record_says_why_a_resource_was_given_back(world: World) -> None:
    lease = world.active(hosts(2, **NO_SHOW), end=2)
    world.boot(lease)
    run_until(world, world.hour(2))
    query = select(segments.c.end_cause, segments.c.ends_at).where(segments.c.lease_id == lease.id)
    with world.service.db.reading() as connection:
        found = {row.end_cause: from_seconds(row.ends_at) for row in connection.execute(query)}
    assert found == {"no_show": world.hour(0) + timedelta(seconds=SECONDS), "ended": world.hour(2)}


def test_servers_that_stay_on_a_failed_host_delay_no_warning(world: World) -> None:
    lease = world.active(hosts(1, no_show_seconds=300))
    world.boot(lease)
    run_for(world, seconds=5)
    world.fail("cmp-01")
    for _ in range(36):
        run_for(world, seconds=10)
        audit(world)
