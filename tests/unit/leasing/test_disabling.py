"""Feature C7: a disabled resource is leased to nobody but administrators, and keeps what is promised on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.resources.resource import find_resource
from leasehold.db.tables import outbox
from leasehold.features.alarm.model import AlarmDraft
from leasehold.features.alarm.use import ALARMS, AlarmWatch, make_alarm
from leasehold.leasing.create import create_lease
from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.leasing.reading.queries import list_resources
from leasehold.leasing.resources import resource as resources
from leasehold.manager.monitor import check_once
from leasehold.model.caller import Sight
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InUseError, NotEnoughError, NotFoundError
from leasehold.model.refusal import NoWindow
from leasehold.model.resource import FLOATING_IP, HOST, Disabling
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import ALT, DEMO, OPERATOR, flavors, floating_ips, hosts, instances, run_for, run_manager
from tests.stateful.audit import audit, dump
from tests.unit.leasing.badges import BADGE, badges, with_badges
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import MISSING, WHOLE, only

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource
    from tests.factory import World

pytestmark = pytest.mark.slow

EVERY_HOST = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
ON_DISABLED = "It would fit on resources that an administrator has disabled"
KINDS = {
    "hosts": hosts(),
    "instances": instances(),
    "flavors": flavors(),
    "addresses": floating_ips(),
    "a named address": floating_ips(required_floatingips=["203.0.113.200"]),
}
"""A request of every resource type that comes with the service."""


def leased(world: World, *reservations: Any, **more: Any) -> Lease:
    """Return a lease of an administrator, who may have disabled resources."""
    return world.lease(*reservations, caller=OPERATOR, use_disabled=True, **more)


def disable_all(world: World) -> None:
    world.disable(*(each.label for kind in (HOST, FLOATING_IP) for each in list_resources(world.service, kind)))


def host(world: World, label: str) -> Resource:
    return next(each for each in world.listed() if each.label == label)


def told(world: World, *types: str) -> list[tuple[str, Any]]:
    """Return the events of these types, with their payloads."""
    query = select(outbox).where(outbox.c.event_type.in_(types)).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        return [(row.event_type, row.payload) for row in connection.execute(query)]


# ---------------------------------------------------------------- for users


@pytest.mark.parametrize("request_", KINDS.values(), ids=KINDS)
def test_nobody_but_administrators_gets_what_is_disabled(world: World, request_: dict[str, Any]) -> None:
    disable_all(world)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(request_)
    assert (refused.value.refusal.largest, refused.value.refusal.nearest) == (0, None)
    lease = leased(world, request_)
    assert world.holds(lease)
    audit(world)
    with pytest.raises(NotEnoughError):
        world.lease(request_, start=5, end=6)


def test_a_plugin_with_a_pool_of_its_own_needs_to_do_nothing_for_it(world: World) -> None:
    world = with_badges(world, 2)
    for ident in ("0", "1"):
        resources.change(world.service, BADGE, ident, {}, Disabling(disabled=True, reason=None, by=OPERATOR))
    with pytest.raises(NotEnoughError):
        world.lease(badges())
    assert leased(world, badges(2)).reservations
    resources.change(world.service, BADGE, "0", {}, Disabling(disabled=False, reason=None, by=OPERATOR))
    assert world.lease(badges(), start=2, end=3).reservations


def test_what_is_free_and_what_is_offered_count_without_it(world: World) -> None:
    alarm = make_alarm(world.service, DEMO, AlarmDraft({"resource_type": HOST, **only(*EVERY_HOST)}, 3, 3600, "few"))
    enrolled = len(world.listed())
    with pytest.raises(NotEnoughError) as before:
        world.lease(hosts(enrolled + 1))
    world.disable("cmp-01", "cmp-02")
    AlarmWatch(world.service).check()
    assert ALARMS.get(world.service, alarm.id).available == 3
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(enrolled))
    assert (before.value.refusal.largest, refused.value.refusal.largest) == (enrolled, enrolled - 2)
    assert refused.value.refusal.nearest is None
    assert refused.value.refusal.no_window is NoWindow.NEVER
    world.lease(only("cmp-06", "cmp-01"), end=2)
    with pytest.raises(NotEnoughError) as later:
        world.lease(only("cmp-06", "cmp-01"))
    assert later.value.refusal.nearest is not None
    assert later.value.refusal.nearest.start == world.hour(2)


# ---------------------------------------------------------------- what is promised stays


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    "asked", [hosts(), instances(2), only("cmp-01"), hosts(resource_properties='["==", "$reservable", "True"]')]
)
def test_what_is_promised_on_it_is_neither_moved_nor_flagged(world: World, asked: Any, *, begun: bool) -> None:
    lease = world.lease(asked, start=0 if begun else 0.5, end=2)
    run_for(world, minutes=1)
    before = world.holds(lease)
    world.disable(*before)
    check_once(world.service)
    world.heal()
    assert (world.holds(lease), flags(world, lease)) == (before, WHOLE)
    run_for(world, minutes=45)
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", before)
    audit(world)
    assert findings(world) == []
    run_for(world, hours=2)
    assert world.status(lease) == "TERMINATED"


def test_a_reservation_that_holds_it_may_be_extended_there_and_gets_no_more_of_it(world: World) -> None:
    """As on a host whose Nova service is disabled (failures.md)."""
    lease, slots = (
        world.active(only("cmp-01")),
        world.active(instances(1, resource_properties='["==", "$hypervisor_hostname", "cmp-02"]')),
    )
    world.disable("cmp-01", "cmp-02")
    assert world.amend(lease, end=3).window.end == world.hour(3)
    assert world.amend(slots, end=3).window.end == world.hour(3)
    assert (world.holds(lease), world.holds(slots)) == ({"cmp-01": 1}, {"cmp-02": 1})
    with pytest.raises(NotEnoughError):
        world.amend(slots, {"amount": 2})
    audit(world)


def test_an_amendment_gets_nothing_that_is_disabled(world: World) -> None:
    lease = world.lease(only("cmp-01", "cmp-02"))
    (other,) = {"cmp-01", "cmp-02"} - world.holds(lease).keys()
    world.disable(other)
    with pytest.raises(NotEnoughError) as refused:
        world.amend(lease, {"min": 2, "max": 2})
    assert ON_DISABLED in str(refused.value)
    after = world.amend(lease, {"min": 2, "max": 2}, use_disabled=True)
    assert world.holds(after) == {"cmp-01": 1, "cmp-02": 1}


# ---------------------------------------------------------------- healing, swaps and windows


def test_healing_takes_nothing_that_is_disabled_and_puts_nothing_back(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02"), end=5)
    (mine,) = world.holds(lease)
    (other,) = {"cmp-01", "cmp-02"} - {mine}
    world.disable(other)
    world.clock.advance(minutes=10)
    world.fail(mine)
    assert (world.holds(lease), flags(world, lease)) == ({}, MISSING)
    # What it lost works again, and is disabled now: it does not go back, and stays disabled.
    world.disable(mine, reason="a fan is broken")
    world.recover(mine)
    check_once(world.service)
    assert (world.holds(lease), flags(world, lease)) == ({}, MISSING)
    found = host(world, mine)
    assert (found.admitted, found.disabled, found.reservable, found.health) == (True, True, False, "healthy")
    world.enable(mine)
    check_once(world.service)
    assert world.holds(lease) == {mine: 1}
    audit(world)


def test_what_fails_while_it_is_disabled_is_replaced_as_ever(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02"), end=5)
    (mine,) = world.holds(lease)
    world.disable(mine)
    world.clock.advance(minutes=10)
    world.fail(mine)
    assert world.holds(lease).keys() == {"cmp-01", "cmp-02"} - {mine}
    world.recover(mine)
    assert host(world, mine).disabled


def test_the_flag_survives_polls_recoveries_and_restarts(world: World) -> None:
    world.disable("cmp-01", reason="new firmware")
    for _ in range(2):
        world.fail("cmp-01")
        world.recover("cmp-01")
    again = world.with_settings()
    check_once(again.service)
    found = host(again, "cmp-01")
    assert (found.disabled, found.disabled_reason, found.reservable) == (True, "new firmware", False)
    with pytest.raises(NotEnoughError):
        again.lease(only("cmp-01"))


def test_a_swap_gives_nothing_that_is_disabled(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02"), end=2)
    (mine,) = world.holds(lease)
    (other,) = {"cmp-01", "cmp-02"} - {mine}
    world.clock.advance(minutes=10)
    world.disable(other)
    with pytest.raises(NotEnoughError) as refused:
        world.swap(lease, host=mine)
    assert ON_DISABLED in str(refused.value)
    assert other not in str(refused.value)
    world.enable(other)
    assert world.holds(world.swap(lease, host=mine)) == {other: 1}


def test_a_maintenance_window_moves_nothing_to_what_is_disabled(world: World) -> None:
    lease = world.lease(only("cmp-01", "cmp-02"), start=1, end=2)
    (mine,) = world.holds(lease)
    (other,) = {"cmp-01", "cmp-02"} - {mine}
    world.disable(other)
    with pytest.raises(MaintenanceConflictError, match="1 cannot be moved"):
        world.maintain(mine, start=1, end=2, on_conflict="move")
    # The operator's own window is on a disabled host as on any other.
    assert world.maintain(other, start=1, end=2)


# ---------------------------------------------------------------- waiting leases


def test_a_lease_that_waits_gets_it_as_soon_as_it_is_enabled(world: World) -> None:
    world.disable("cmp-01")
    lease = world.lease(only("cmp-01"), type=LeaseType.WAITLIST, deadline=world.hour(5), end=2)
    run_for(world, hours=1)
    assert world.status(lease) == "IN_PROGRESS"
    assert ON_DISABLED not in world.reason(lease)
    world.enable("cmp-01")
    run_manager(world)
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {"cmp-01": 1})


def test_a_lease_of_an_administrator_waits_for_what_is_disabled_too(world: World) -> None:
    holder = world.lease(only("cmp-01"), end=2)
    world.disable("cmp-01")
    waits: dict[str, Any] = {"type": LeaseType.WAITLIST, "deadline": world.hour(5), "end": 1}
    users, mine = world.lease(only("cmp-01"), caller=ALT, **waits), leased(world, only("cmp-01"), **waits)
    run_for(world, minutes=20)
    assert (world.status(users), world.status(mine)) == ("IN_PROGRESS", "IN_PROGRESS")
    world.delete(holder)
    run_for(world, minutes=10)
    assert (world.status(users), world.status(mine)) == ("IN_PROGRESS", "ACTIVE")
    assert world.holds(mine) == {"cmp-01": 1}
    audit(world)


# ---------------------------------------------------------------- for administrators


def test_an_administrator_gets_a_disabled_one_only_where_nothing_else_fits(world: World) -> None:
    world.disable("cmp-01", "cmp-02")
    enabled = sorted({each.label for each in world.listed()} - {"cmp-01", "cmp-02"})
    for _ in enabled:
        assert not world.holds(leased(world, hosts())).keys() & {"cmp-01", "cmp-02"}
    assert world.holds(leased(world, hosts())) == {"cmp-01": 1}
    assert world.holds(leased(world, only("cmp-02"))) == {"cmp-02": 1}


def test_each_reservation_of_an_administrator_prefers_what_is_enabled(world: World) -> None:
    """The one that names the disabled host does not make the other one take a disabled host as well."""
    world.disable("cmp-01", "cmp-02")
    lease = leased(world, hosts(), only("cmp-02"))
    assert world.holds(lease, 1) == {"cmp-02": 1}
    assert not world.holds(lease).keys() & {"cmp-01", "cmp-02"}


def test_an_administrator_gets_nothing_that_is_disabled_and_does_not_work(world: World) -> None:
    world.disable("cmp-01")
    world.fail("cmp-01")
    with pytest.raises(NotEnoughError) as refused:
        leased(world, only("cmp-01"))
    assert ON_DISABLED not in str(refused.value)


@pytest.mark.parametrize("tells", [True, False])
def test_a_refusal_says_to_operators_alone_that_only_disabled_ones_would_fit(world: World, *, tells: bool) -> None:
    world.disable("cmp-01", "cmp-06")

    def refused(*reservations: Any) -> NotEnoughError:
        draft = LeaseDraft("lease", world.hour(0), world.hour(1), reservations=reservations)
        with pytest.raises(NotEnoughError) as caught:
            create_lease(world.service, DEMO, draft, sight=Sight(disabled=tells))
        return caught.value

    some = refused(only("cmp-01"))
    assert (ON_DISABLED in str(some), some.details.get("fits_on_disabled", False)) == (tells, tells)
    assert "cmp-01" not in str(some)
    none = refused(hosts(len(world.listed()) + 1))
    assert ON_DISABLED not in str(none)
    assert "fits_on_disabled" not in none.details


# ---------------------------------------------------------------- the flag


def test_each_change_is_an_event_with_who_made_it(world: World) -> None:
    world.disable("cmp-01", reason="a fan is broken")
    world.disable("cmp-01")
    world.disable("cmp-01", reason="two fans are broken")
    world.enable("cmp-01")
    world.enable("cmp-01")
    found = told(world, "resource.disabled", "resource.enabled", "resource.changed")
    assert [(kind, each["disabled"], each["disabled_reason"], each["reservable"]) for kind, each in found] == [
        ("resource.disabled", True, "a fan is broken", False),
        ("resource.disabled", True, "two fans are broken", False),
        ("resource.enabled", False, None, True),
    ]
    assert [each["by"] for _, each in found] == [{"user_id": "root", "project_id": "operators"}] * 3


def test_the_flag_and_the_properties_change_together_or_not_at_all(world: World) -> None:
    world.lease(hosts(resource_properties='["and", ["==", "$hypervisor_hostname", "cmp-01"], ["==", "$rack", "r1"]]'))
    found, before = host(world, "cmp-01"), dump(world.engine)
    said = Disabling(disabled=True, reason="why", by=OPERATOR)
    with pytest.raises(InUseError):
        resources.change(world.service, HOST, found.id, {"rack": "r9"}, said)
    with pytest.raises(NotFoundError):
        resources.change(world.service, HOST, "none-such", {}, said)
    assert dump(world.engine) == before
    after = resources.change(world.service, HOST, found.id, {"note": "x"}, said)
    assert (after.properties["note"], after.disabled) == ("x", True)
    assert [kind for kind, _ in told(world, "resource.changed", "resource.disabled")] == [
        "resource.changed",
        "resource.disabled",
    ]


def test_a_host_that_is_removed_and_enrolled_again_is_not_disabled(world: World) -> None:
    world.disable("cmp-07", reason="old")
    resources.remove(world.service, HOST, host(world, "cmp-07").id)
    run_manager(world)
    world.enrol("cmp-07")
    assert (host(world, "cmp-07").disabled, host(world, "cmp-07").disabled_reason) == (False, None)


def test_another_process_sees_the_flag_at_its_next_decision(world: World) -> None:
    """The generation of the pool moves on, so its calendar is brought up to date."""
    other = world.with_settings()
    assert other.lease(only("cmp-01"))
    world.disable("cmp-01")
    with pytest.raises(NotEnoughError):
        other.lease(only("cmp-01"), start=2, end=3)
    other.enable("cmp-01")
    assert world.lease(only("cmp-01"), start=2, end=3)
    with world.service.db.reading() as connection:
        found = find_resource(connection, HOST, host(world, "cmp-01").id)
    assert found is not None
    assert not found.disabled
    audit(world)
