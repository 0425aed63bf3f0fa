"""Feature C9: a reservation that names no properties gets what operators prefer, and others if that is not enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.features.availability.search import Wish, search_windows
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.features.held_offer import use as held_offer
from leasehold.leasing import create
from leasehold.leasing.deciding.decide import Asked, RefusedError, Terms, decide
from leasehold.leasing.deciding.free_windows import fits
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL
from leasehold.model.terms.default_properties import DefaultProperties
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.terms.margins import Margins
from leasehold.model.windows import Window, from_seconds
from tests.factory import DEMO, TYPES, change_host, flavors, floating_ips, hosts, instances, run_for
from tests.features.series.test_use import leases, make
from tests.unit.leasing.test_offers import ADDRESSES, HOSTS, SPANS, asked_of, endless, promises, requests, snapshots_of
from tests.unit.resource_types.pool import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease
    from leasehold.model.refusal import Refusal
    from tests.factory import World
    from tests.unit.calendar.oracle import Row

pytestmark = pytest.mark.slow

GOOD = '["==", "$tier", "good"]'
GOOD_HOSTS = {"cmp-06", "cmp-07"}
OTHERS = {"cmp-01", "cmp-02", "gpu-03"}


@pytest.fixture
def site(world: World) -> World:
    """Return a service whose operators prefer two of five hosts, for hosts and for what shares them."""
    for name in GOOD_HOSTS:
        change_host(world.service, world.host(name).id, {"tier": "good"})
    types = ("physical:host", "virtual:instance", "flavor:instance")
    return preferring(world, dict.fromkeys(types, GOOD))


def preferring(world: World, wanted: dict[str, str]) -> World:
    wanting = replace(world.service.settings.leases, default_properties_by_type=wanted)
    return world.with_settings(leases=wanting)


def told(world: World, lease: Lease, position: int = 0) -> bool | None:
    """Return whether the default properties were applied, as the lease says later; fails if it has none."""
    default = world.part(lease, position).default_properties
    assert default is not None
    assert default.filter == GOOD
    return default.applied


def taken(world: World, lease: Lease, position: int = 0) -> set[str]:
    return set(world.holds(lease, position))


# ------------------------------------------------------------ creating


@pytest.mark.parametrize("asked", [hosts(2), instances(2, affinity=False), flavors(3)])
def test_who_names_no_properties_gets_what_operators_prefer(site: World, asked: dict[str, Any]) -> None:
    lease = site.lease(asked, start=1, end=2)
    assert taken(site, lease) <= GOOD_HOSTS
    assert told(site, lease) is True
    assert lease.reservations[0].default_properties == site.part(lease).default_properties


def test_where_that_is_not_enough_others_are_taken_and_the_lease_says_so(site: World) -> None:
    lease = site.lease(hosts(3), start=1, end=2)
    assert taken(site, lease) == {"cmp-01", "cmp-02", "cmp-06"}
    assert told(site, lease) is False
    one = site.lease(hosts(1), start=1, end=2)
    assert taken(site, one) == {"cmp-07"}
    assert told(site, one) is True
    last = site.lease(hosts(1), start=1, end=2)
    assert taken(site, last) == {"gpu-03"}
    assert told(site, last) is False


def test_the_fewest_that_a_range_needs_are_enough(site: World) -> None:
    lease = site.lease(hosts(1, 4), start=1, end=2)
    assert taken(site, lease) == GOOD_HOSTS
    assert told(site, lease) is True


@pytest.mark.parametrize("asked", ["[]", '["==", "$hypervisor_type", "QEMU"]'])
@pytest.mark.parametrize("field", ["resource_properties", "hypervisor_properties"])
def test_who_names_properties_gets_no_others(site: World, asked: str, field: str) -> None:
    lease = site.lease({**hosts(1), field: asked}, start=1, end=2)
    assert taken(site, lease) == {"cmp-01"}
    assert site.part(lease).default_properties is None


def test_types_that_are_not_configured_have_none(site: World) -> None:
    lease = site.lease(floating_ips(1), hosts(1), start=1, end=2)
    assert site.part(lease, 0).default_properties is None
    assert told(site, lease, 1) is True


def test_addresses_have_them_too_and_named_ones_come_first(world: World) -> None:
    filter_ = '["==", "$floating_ip_address", "203.0.113.201"]'
    own = preferring(world, {"virtual:floatingip": filter_})
    lease = own.lease(floating_ips(1), start=1, end=2)
    assert taken(own, lease) == {"203.0.113.201"}
    named = own.lease(floating_ips(1, required_floatingips=["203.0.113.200"]), start=3, end=4)
    assert taken(own, named) == {"203.0.113.200"}
    assert own.part(named).default_properties == DefaultProperties(filter_, applied=False)


def test_a_property_that_no_host_has_refuses_nobody(world: World) -> None:
    own = preferring(world, {"physical:host": GOOD})
    lease = own.lease(hosts(1), start=1, end=2)
    assert taken(own, lease) == {"cmp-01"}
    assert told(own, lease) is False


def test_a_refusal_is_the_one_without_default_properties(site: World, world: World) -> None:
    site.lease(hosts(1), start=1, end=3)
    refusals = []
    for each in (site, world):
        with pytest.raises(NotEnoughError) as caught:
            each.lease(hosts(5), start=1, end=2)
        refusals.append(caught.value.refusal)
    assert refusals[0] == refusals[1]
    assert refusals[0].nearest is not None


def test_no_disabled_host_is_taken_because_it_is_preferred(site: World) -> None:
    site.disable(*GOOD_HOSTS)
    lease = site.lease(hosts(1), start=1, end=2, use_disabled=True)
    assert taken(site, lease) == {"cmp-01"}


def test_another_reservation_of_the_lease_that_needs_them_gets_them(site: World) -> None:
    lease = site.lease(hosts(1), hosts(2, resource_properties=GOOD), start=1, end=2)
    assert [taken(site, lease, each) for each in (0, 1)] == [{"cmp-01"}, GOOD_HOSTS]
    assert told(site, lease) is False


def test_a_dry_run_and_an_offer_say_what_the_lease_would(site: World) -> None:
    draft = LeaseDraft("tried", site.hour(1), site.hour(2), reservations=(hosts(2),))
    tried = create.try_creation(site.service, DEMO, draft)
    assert tried.reservations[0].default_properties == DefaultProperties(GOOD, applied=True)
    offer = create.create_lease(site.service, DEMO, replace(draft, hold=timedelta(minutes=5)))
    lease = held_offer.accept_offer(site.service, offer.id)
    assert taken(site, lease) == GOOD_HOSTS
    assert told(site, lease) is True


def test_what_is_found_for_a_lease_is_what_it_then_gets(site: World) -> None:
    site.lease(hosts(1, resource_properties=GOOD), start=1, end=2)
    wish = Wish([[hosts(1, 4)]], timedelta(hours=1), site.hour(1), limit=2)
    found = search_windows(site.service, DEMO, wish)
    for each in found.windows:
        start = (each.window.start - site.hour(0)) / timedelta(hours=1)
        lease = site.lease(hosts(1, 4), start=start, end=start + 1)
        assert [sum(site.holds(lease).values())] == list(each.amounts)
    assert [each.amounts for each in found.windows] == [[1], [2]]
    free = availability_of(site.service, DEMO, AvailabilityQuestion(hosts(1), site.hour(5), site.hour(6)))
    assert (free.total, free.throughout) == (5, 5)


def test_each_occurrence_of_a_series_is_decided_with_them(site: World) -> None:
    site.lease(hosts(2, resource_properties=GOOD), start=25, end=26)
    made = leases(site, make(site))
    assert [taken(site, each) for each in made] == [{"cmp-06"}, {"cmp-01"}, {"cmp-06"}]
    assert [told(site, each) for each in made] == [True, False, True]


# ------------------------------------------------------------ later decisions


def test_what_a_lease_has_it_keeps_and_what_it_gets_more_is_preferred(site: World) -> None:
    lease = site.lease(hosts(3), start=1, end=2)
    before = taken(site, lease)
    assert taken(site, site.amend(lease, end=site.hour(3))) == before
    assert taken(site, site.amend(lease, {"min": 4, "max": 4})) == {*before, "cmp-07"}
    assert told(site, lease) is False
    assert taken(site, site.amend(lease, {"min": 5, "max": 5})) == GOOD_HOSTS | OTHERS


def test_an_amendment_that_needs_others_says_so(site: World) -> None:
    lease = site.lease(hosts(2), start=1, end=2)
    assert told(site, lease) is True
    site.amend(lease, {"min": 3, "max": 3})
    assert told(site, lease) is False
    site.amend(lease, name="another")
    assert told(site, lease) is False


def test_an_extension_moves_to_what_is_preferred_and_then_to_what_is_free(site: World) -> None:
    lease = site.lease(hosts(1), start=1, end=2)
    site.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-06"]'), start=2, end=4)
    site.lease(hosts(1), start=5, end=6)
    site.amend(lease, end=site.hour(3))
    assert taken(site, lease) == {"cmp-07"}
    site.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-07"]'), start=3, end=4)
    site.amend(lease, end=site.hour(4))
    assert taken(site, lease) == {"cmp-01"}
    assert told(site, lease) is False


def test_who_names_properties_later_has_no_default_ones_any_more(site: World) -> None:
    lease = site.lease(hosts(1), start=1, end=2)
    site.amend(lease, {"resource_properties": '["==", "$hypervisor_hostname", "cmp-01"]'})
    assert site.part(lease).default_properties is None
    assert taken(site, lease) == {"cmp-01"}
    site.amend(lease, {"resource_properties": "", "min": 2, "max": 2})
    assert taken(site, lease) == {"cmp-01", "cmp-02"}
    assert site.part(lease).default_properties is None


def test_what_is_configured_later_is_for_later_leases(site: World, world: World) -> None:
    lease = site.lease(hosts(1), start=1, end=2)
    world.amend(lease, {"min": 2, "max": 2})
    assert taken(site, lease) == GOOD_HOSTS
    assert told(site, lease) is True
    plain = world.lease(hosts(1), start=3, end=4)
    site.amend(plain, {"min": 2, "max": 2})
    assert taken(site, plain) == {"cmp-01", "cmp-02"}


def test_healing_looks_for_what_is_preferred_first(site: World) -> None:
    lease = site.active(hosts(1), end=4)
    assert taken(site, lease) == {"cmp-06"}
    site.fail("cmp-06")
    assert taken(site, lease) == {"cmp-07"}
    assert told(site, lease) is True
    site.fail("cmp-07")
    assert taken(site, lease) == {"cmp-01"}
    assert told(site, lease) is False
    site.recover("cmp-06")
    assert taken(site, lease) == {"cmp-01"}


def test_healing_gives_all_that_is_missing_rather_than_what_is_preferred(site: World) -> None:
    lease = site.active(instances(4, affinity=True), end=4)
    assert taken(site, lease) == {"cmp-06"}
    site.lease(instances(2, resource_properties='["==", "$hypervisor_hostname", "cmp-07"]'), start=0, end=4)
    free = availability_of(
        site.service,
        DEMO,
        AvailabilityQuestion(
            instances(resource_properties='["==", "$hypervisor_hostname", "cmp-07"]'), site.now(), site.hour(4)
        ),
    )
    assert free.throughout is not None
    assert 0 < free.throughout < 4
    site.fail("cmp-06")
    assert sum(site.holds(lease).values()) == 4
    assert taken(site, lease) <= OTHERS
    assert told(site, lease) is False


def test_a_swap_gives_what_is_preferred_first(site: World) -> None:
    lease = site.lease(hosts(1), start=1, end=2)
    site.swap(lease, host="cmp-06")
    assert taken(site, lease) == {"cmp-07"}
    assert told(site, lease) is True
    site.disable("cmp-06")
    site.swap(lease, host="cmp-07")
    assert taken(site, lease) == {"cmp-01"}
    assert told(site, lease) is False


def test_a_maintenance_window_moves_a_lease_to_what_is_preferred_first(site: World) -> None:
    lease = site.lease(hosts(1), start=1, end=2)
    site.maintain("cmp-06", start=1, end=2, on_conflict="move")
    assert taken(site, lease) == {"cmp-07"}
    assert told(site, lease) is True
    site.maintain("cmp-07", start=1, end=2, on_conflict="move")
    assert taken(site, lease) == {"cmp-01"}
    assert told(site, lease) is False


def test_a_lease_that_makes_room_stays_where_its_default_properties_are_applied(site: World) -> None:
    first = site.lease(hosts(1), start=1, end=2)
    blocked = hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-06"]')
    room = site.lease(blocked, start=1, end=2)
    assert (taken(site, first), taken(site, room)) == ({"cmp-07"}, {"cmp-06"})
    assert told(site, first) is True
    site.lease(hosts(1), start=1, end=2)
    only = hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-07"]')
    with pytest.raises(NotEnoughError):
        site.lease(only, start=1, end=2)
    assert taken(site, first) == {"cmp-07"}


def test_a_lease_that_could_not_have_them_makes_room_anywhere(site: World) -> None:
    site.disable(*GOOD_HOSTS)
    lease = site.lease(hosts(1), start=1, end=2)
    assert told(site, lease) is False
    only = hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-01"]')
    site.lease(only, start=1, end=2)
    assert taken(site, lease) == {"cmp-02"}


def test_each_try_of_a_lease_that_waits_looks_for_them(site: World) -> None:
    blocker = site.lease(hosts(5), start=1, end=3)
    more: dict[str, Any] = {"type": LeaseType.RETRY, "retry_pause": timedelta(minutes=1), "retries": 12}
    waits = site.lease(hosts(2), start=1, end=2, **more)
    assert told(site, waits) is None
    site.delete(blocker)
    run_for(site, minutes=2)
    assert taken(site, waits) == GOOD_HOSTS
    assert told(site, waits) is True
    blocker = site.lease(hosts(5), start=4, end=6)
    waits = site.lease(hosts(1), start=4, end=5, **more)
    other = site.lease(hosts(4), start=7, end=8)
    site.disable(*GOOD_HOSTS)
    site.delete(blocker)
    run_for(site, minutes=2)
    assert taken(site, waits) == {"cmp-01"}
    assert told(site, waits) is False
    assert told(site, other) is False


# ------------------------------------------------------------ laws

LARGE = '["==", "$kind", "large"]'


def decided(asked: Sequence[Asked], snapshots: Any, terms: Terms) -> list[Sequence[Pick]] | Refusal:
    try:
        return decide(snapshots, asked, terms)
    except RefusedError as error:
        return error.refusal


@settings(max_examples=200)
@given(
    on_hosts=promises([1, 2, 3], shared=True),
    on_addresses=promises([1, 2], shared=False),
    raw=requests(),
    window=SPANS,
)
def test_a_reservation_gets_what_it_would_get_if_it_asked_for_them_or_else_what_it_gets_without(
    on_hosts: list[Row], on_addresses: list[Row], raw: dict[str, Any], window: tuple[int, int]
) -> None:
    snapshots = snapshots_of({HOST_POOL: (HOSTS, on_hosts), FLOATING_IP_POOL: (ADDRESSES, on_addresses)}, DAY)
    start, end = max(from_seconds(window[0]), DAY), from_seconds(window[1])
    terms = Terms(Window(start, end), end - start, Margins(), endless())
    part = replace(asked_of(raw, 0), default=None)
    plain = decided([part], snapshots, terms)
    got = decided([replace(part, default=DefaultProperties(LARGE))], snapshots, terms)
    if "resource_properties" not in raw:
        return
    texts = [text for text in (raw["resource_properties"], LARGE) if text]
    both = texts[0] if len(texts) == 1 else f'["and", {", ".join(texts)}]'
    kind = TYPES.get(raw["resource_type"]).kind
    asking = decided(
        [Asked(kind, kind.parse({**raw, "resource_properties": both}), place=part.place)], snapshots, terms
    )
    assert got == (asking if isinstance(asking, list) else plain)


@settings(max_examples=200)
@given(
    on_hosts=promises([1, 2, 3], shared=True),
    on_addresses=promises([1, 2], shared=False),
    parts=st.lists(requests(), min_size=1, max_size=4),
    window=SPANS,
)
def test_no_lease_is_refused_because_of_them(
    on_hosts: list[Row], on_addresses: list[Row], parts: list[dict[str, Any]], window: tuple[int, int]
) -> None:
    snapshots = snapshots_of({HOST_POOL: (HOSTS, on_hosts), FLOATING_IP_POOL: (ADDRESSES, on_addresses)}, DAY)
    start, end = max(from_seconds(window[0]), DAY), from_seconds(window[1])
    terms = Terms(Window(start, end), end - start, Margins(), endless())
    asked = [replace(asked_of(raw, place), default=DefaultProperties(LARGE)) for place, raw in enumerate(parts)]
    plain = [replace(part, default=None) for part in asked]
    if fits(snapshots, plain, terms):
        assert fits(snapshots, asked, terms)
    elif not fits(snapshots, asked, terms):
        assert decided(asked, snapshots, terms) == decided(plain, snapshots, terms)
