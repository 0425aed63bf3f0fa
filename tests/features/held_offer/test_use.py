"""Offers among everything else that wants a host: leases that wait, maintenance, healing, limits, other services."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LimitSettings
from leasehold.db.past.history import purge
from leasehold.features.held_offer.use import accept_offer, get_offer, give_up_offer, make_offer
from leasehold.leasing.end_notices import deliver_end_notice
from leasehold.leasing.lapse import lapse
from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import (
    InvalidInputError,
    NotEnoughError,
    NotFoundError,
    TooManyLeasesError,
    TooManyOffersError,
    TooMuchHeldError,
)
from leasehold.model.terms.lease_type import LeaseType
from tests.approver import approving
from tests.factory import ALT, AT_ONCE, DEMO, floating_ips, hosts, instances, run_for, run_manager
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOLD = timedelta(minutes=5)
ALL = 5
"""The hosts of the world."""


def offer(
    world: World, *parts: dict[str, Any], start: float = 1, end: float = 2, caller: Caller = DEMO, **more: Any
) -> Lease:
    draft = LeaseDraft("offered", world.hour(start), world.hour(end), reservations=parts, **{"hold": HOLD, **more})
    return make_offer(world.service, caller, draft)


def limited(world: World, **limits: Any) -> World:
    return world.with_settings(leases=replace(world.service.settings.leases, limits=LimitSettings(**limits)))


def labels(world: World, lease: Lease) -> set[str]:
    named = {each.number: each.label for each in world.listed()}
    held = (one for part in lease.reservations for one in part.allocations if one.released_at is None)
    return {named[one.resource_number] for one in held if one.resource_number in named}


def test_all_types_are_held_and_the_accepted_lease_starts_with_them(world: World) -> None:
    made = offer(world, hosts(2), instances(3), floating_ips(2))
    before = labels(world, made)
    run_manager(world)
    lease = accept_offer(world.service, made.id)
    assert (lease.window, lease.reservations, labels(world, lease)) == (made.window, made.reservations, before)
    run_for(world, hours=1, minutes=1)
    assert (world.status(lease), len(world.holds(lease))) == ("ACTIVE", 2)
    audit(world)
    audit_cloud(world)


def test_an_open_offer_does_nothing_in_the_cloud_nor_does_its_end(world: World) -> None:
    offer(world, hosts(1), instances(1), start=0)
    assert run_manager(world) == 0
    audit_cloud(world)
    run_for(world, minutes=10)
    audit(world)
    audit_cloud(world)


def test_an_offer_outlasts_its_start_and_the_lease_then_starts_at_once(world: World) -> None:
    made = offer(world, hosts(1), start=0, end=1)
    run_for(world, minutes=3)
    lease = accept_offer(world.service, made.id)
    run_manager(world)
    assert (world.status(lease), world.get(lease).window) == ("ACTIVE", made.window)


def test_an_offer_that_was_accepted_meanwhile_does_not_lapse(world: World) -> None:
    made = offer(world, hosts(1))
    lease = accept_offer(world.service, made.id)
    assert not lapse(world.service, made, given_up=True)
    assert world.get(lease) == lease


def test_an_offer_lapses_at_the_end_of_the_lease_at_the_latest(world: World) -> None:
    assert offer(world, hosts(1), start=0, end=0.05).offered_until == world.hour(0.05)


def test_what_lapses_or_is_given_up_goes_to_a_lease_that_waits(world: World) -> None:
    for give_up in (True, False):
        made = offer(world, hosts(ALL))
        kind, until = LeaseType.WAITLIST, world.hour(3)
        lease = world.lease(hosts(1), start=1, end=2, caller=ALT, type=kind, deadline=until)
        run_for(world, minutes=1)
        assert world.status(lease) == "IN_PROGRESS"
        if give_up:
            give_up_offer(world.service, made.id)
        run_for(world, minutes=5)
        assert world.status(lease) == "PENDING"
        world.delete(lease)
        run_manager(world)


def test_amendments_get_what_has_lapsed_without_a_manager(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    offer(world, hosts(ALL), start=2, end=3)
    with pytest.raises(NotEnoughError):
        world.amend(lease, end=3)
    world.clock.advance(minutes=5)
    assert world.amend(lease, end=3).window.end == world.hour(3)
    audit(world)


def test_a_maintenance_window_waits_for_the_offer(world: World) -> None:
    made = offer(world, hosts(1))
    (label,) = labels(world, made)
    for on_conflict in ("refuse", "move", "warn", "force"):
        with pytest.raises(MaintenanceConflictError) as caught:
            world.maintain(label, start=1, end=2, on_conflict=on_conflict)
        (concerned,) = caught.value.details["leases"]
        assert (concerned["id"], concerned["fate"]) == (made.id, "stuck")
    world.clock.advance(minutes=5)
    assert world.maintain(label, start=1, end=2)
    audit(world)


def test_a_host_that_fails_is_replaced_when_the_offer_was_accepted(world: World) -> None:
    world = world.with_settings(manager=AT_ONCE.manager)
    made = offer(world, hosts(1), start=0.5)
    (label,) = labels(world, made)
    world.fail(label)
    assert get_offer(world.service, made.id) == made
    lease = accept_offer(world.service, made.id)
    world.heal()
    assert label not in world.holds(lease)
    assert len(world.holds(lease)) == 1


def test_late_binding_leaves_an_offer_where_it_is(world: World) -> None:
    """An offer on the host that another request needs is not moved, as a lease would be."""
    made = offer(world, hosts(1, resource_properties='["==", "$rack", "r1"]'))
    before = labels(world, made)
    world.lease(hosts(1, resource_properties='["==", "$rack", "r1"]'), start=1, end=2)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1, resource_properties='["==", "$rack", "r1"]'), start=1, end=2)
    assert labels(world, get_offer(world.service, made.id)) == before


def test_an_offer_counts_to_the_limits_until_the_moment_it_lapses(world: World) -> None:
    for limits, error in (({"open_leases": 1}, TooManyLeasesError), ({"totals": {"hosts": 2}}, TooMuchHeldError)):
        strict = limited(world, **limits)
        offer(strict, hosts(2))
        with pytest.raises(error):
            strict.lease(hosts(1), start=1, end=2)
        with pytest.raises(error):
            offer(strict, hosts(1))
        strict.clock.advance(minutes=5)
        strict.delete(strict.lease(hosts(1), start=1, end=2))


def test_operators_switch_offers_off_and_bound_the_hold(world: World) -> None:
    before = dump(world.engine)
    with pytest.raises(TooManyOffersError, match="switched off"):
        offer(limited(world, offers=0), hosts(1))
    with pytest.raises(InvalidInputError, match="900 seconds at most") as caught:
        offer(world, hosts(1), hold=timedelta(minutes=16))
    assert caught.value.field == "hold_seconds"
    assert dump(world.engine) == before


def test_what_is_over_is_purged_like_a_lease(world: World) -> None:
    made = offer(world, hosts(1))
    run_for(world, minutes=6)
    world.clock.advance(days=3)
    assert purge(world.engine, world.now(), timedelta(days=2), dry_run=False)["leases"] == 1
    with pytest.raises(NotFoundError):
        get_offer(world.service, made.id)


def test_another_service_approves_the_offer_and_is_told_of_its_end(world: World) -> None:
    with approving() as approver:
        ask = world.with_settings(leases=approver.settings())
        for accepts in (True, False):
            made = offer(ask, hosts(1))
            if accepts:
                ask.delete(accept_offer(ask.service, made.id))
            run_for(ask, minutes=6)
            assert deliver_end_notice(ask.service)
            assert not deliver_end_notice(ask.service)
        paths = [each.path for each in approver.asked]
        assert paths == ["/v1/check-create", "/v1/on-end"] * 2


def test_a_lease_is_no_offer(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    for use in (get_offer, accept_offer, give_up_offer):
        with pytest.raises(NotFoundError):
            use(world.service, lease.id)
