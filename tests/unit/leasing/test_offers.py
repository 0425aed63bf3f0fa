"""The window or amount that a refusal offers is granted if requested at once, for new leases and amendments."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.leasing.deciding.decide import Asked, RefusedError, Terms, decide
from leasehold.leasing.deciding.free_windows import MINUTE
from leasehold.leasing.room.counter_offer import Proposal, most_available
from leasehold.model.budget import Budget
from leasehold.model.errors import InUseError, NotEnoughError, TakesTooLongError
from leasehold.model.refusal import NoWindow
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL, Resource
from leasehold.model.terms.default_properties import DefaultProperties
from leasehold.model.terms.lead import Lead
from leasehold.model.terms.margins import Margins
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.factory import ALT, TYPES, floating_ips, hosts, instances, run_manager, run_until
from tests.stateful.audit import dump
from tests.unit.calendar.oracle import Row, columns
from tests.unit.resource_types.pool import DAY, NETWORK, address, host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.refusal import Refusal
    from tests.factory import World

pytestmark = pytest.mark.slow

LAST = 20
"""Promises lie within so many minutes."""
NOBODY = "00000000-0000-0000-0000-00000000000f"


# ---------------------------------------------------------------- any database, any lease


def minutes(start: int, end: int) -> tuple[int, int]:
    begin = to_seconds(DAY)
    return begin + MINUTE * start, begin + MINUTE * end


SPANS = st.tuples(st.integers(0, LAST), st.integers(1, 8)).map(lambda each: minutes(each[0], sum(each)))
SHARES = st.sampled_from([{"VCPU": 1}, {"VCPU": 2}, {"VCPU": 3}])


@st.composite
def promises(draw: st.DrawFn, numbers: Sequence[int], *, shared: bool) -> list[Row]:
    """Draw allocations that never exceed the capacity; some have ended and are not released."""
    rows: list[Row] = []
    taken: dict[tuple[int, int], int] = {}
    for ident in range(draw(st.integers(0, 8))):
        number, (start, end) = draw(st.sampled_from(numbers)), draw(SPANS)
        if draw(st.integers(0, 7)) == 0:
            start, end = start - (LAST + 8) * MINUTE, minutes(0, 0)[0]
        demand = draw(st.none() | SHARES) if shared else None
        share = 4 if demand is None else demand["VCPU"]
        times = [(number, moment) for moment in range(start, end, MINUTE)]
        if all(taken.get(time, 0) + share <= 4 for time in times):
            taken |= {time: taken.get(time, 0) + share for time in times}
            rows.append(Row(ident, number, start, end, 1, demand, NOBODY, released=False))
    return rows


HOSTS = [
    host(number, 4, attributes={"hypervisor_hostname": f"cmp-{number}", "kind": "large" if number > 2 else "small"})
    for number in (1, 2, 3)
]
ADDRESSES = [address(number) for number in (1, 2)]
CONDITIONS = st.sampled_from(["", '["==", "$kind", "large"]', '["==", "$kind", "small"]'])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a reservation, with `default_properties` that operators prefer for it, or None."""
    preferred = draw(st.sampled_from([None, None, '["==", "$kind", "large"]', '["==", "$kind", "unknown"]']))
    return {**draw(reservations()), "default_properties": preferred}


@st.composite
def reservations(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["hosts", "instances", "instances", "addresses"]))
    if kind == "hosts":
        least = draw(st.integers(1, 3))
        return hosts(least, least + draw(st.integers(0, 1)), resource_properties=draw(CONDITIONS))
    if kind == "instances":
        affinity = draw(st.sampled_from([None, True, False]))
        size: dict[str, Any] = {
            "vcpus": draw(st.integers(1, 4)),
            "affinity": affinity,
            "resource_properties": draw(CONDITIONS),
        }
        return instances(draw(st.integers(1, 4)), **size)
    named = draw(st.sampled_from([[], ["203.0.113.2"]]))
    return {**floating_ips(draw(st.integers(1, 2)), required_floatingips=named), "network_id": NETWORK}


def asked_of(raw: Mapping[str, Any], place: int) -> Asked:
    kind, preferred = TYPES.get(raw["resource_type"]).kind, raw.get("default_properties")
    default = None if preferred is None else DefaultProperties(preferred)
    return Asked(kind, kind.parse(raw), place=f"reservations[{place}]", default=default)


def snapshots_of(db: Mapping[str, tuple[Sequence[Resource], Sequence[Row]]], now: datetime) -> dict[str, Snapshot]:
    found = {}
    for pool, (resources, rows) in db.items():
        calendar = Calendar(pool)
        calendar.update(1, resources, columns(rows))
        found[pool] = calendar.snapshot(now)
    return found


def fits(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms) -> bool:
    try:
        decide(snapshots, asked, terms)
    except RefusedError:
        return False
    return True


def offer_of(proposal: Proposal) -> Refusal | None:
    try:
        proposal.decide()
    except NotEnoughError as error:
        return error.refusal
    return None


def endless() -> Budget:
    return Budget(1.0, lambda: 0.0)


@settings(max_examples=100)
@given(
    on_hosts=promises([1, 2, 3], shared=True),
    on_addresses=promises([1, 2], shared=False),
    parts=st.lists(requests(), min_size=1, max_size=3),
    window=SPANS,
    margin=st.sampled_from([0, 0, 2]),
    of_addresses=st.sampled_from([None, 0, 3]),
    lead=st.sampled_from([0, 0, 1, 4]),
    seconds=st.sampled_from([0, 30]),
)
@pytest.mark.slow
def test_the_offer_of_any_refusal_is_granted_and_no_earlier_window_is(
    on_hosts: list[Row],
    on_addresses: list[Row],
    parts: list[dict[str, Any]],
    window: tuple[int, int],
    margin: int,
    of_addresses: int | None,
    lead: int,
    seconds: int,
) -> None:
    now = DAY + timedelta(seconds=seconds)
    db = {HOST_POOL: (HOSTS, on_hosts), FLOATING_IP_POOL: (ADDRESSES, on_addresses)}
    snapshots = snapshots_of(db, now)
    start, end = max(from_seconds(window[0]), now), from_seconds(window[1])
    asked = [asked_of(raw, place) for place, raw in enumerate(parts)]
    length = end - from_seconds(window[0])
    by_pool = {} if of_addresses is None else {FLOATING_IP_POOL: timedelta(minutes=of_addresses)}
    margins = Margins(timedelta(minutes=margin), by_pool)
    terms = Terms(Window(start, max(start, end)), length, margins, endless(), lead=Lead(timedelta(minutes=lead), now))
    refusal = offer_of(Proposal(snapshots, asked, terms, lambda _: True, 1.0))
    if refusal is None:
        return
    careful = {pool: snapshot.careful() for pool, snapshot in snapshots.items()}

    def granted_at(moment: int) -> bool:
        begin = from_seconds(moment)
        there = replace(terms, window=Window(begin, begin + length))
        return fits(careful, asked, there) and fits(snapshots, asked, there)

    first = -(-to_seconds(start) // MINUTE) * MINUTE
    starts = [moment for moment in range(first, minutes(0, 2 * LAST)[1], MINUTE) if granted_at(moment)]
    assert (refusal.nearest and to_seconds(refusal.nearest.start)) == (starts[0] if starts else None)
    assert refusal.nearest is None or refusal.nearest.duration == length
    _check_largest(snapshots, asked, terms, refusal)


def _check_largest(snapshots: Mapping[str, Snapshot], asked: Sequence[Asked], terms: Terms, refusal: Refusal) -> None:
    """Check that the whole lease fits if one reservation of the type asks for the largest amount offered."""
    if not refusal.largest:
        return
    found = []
    for position, part in enumerate(asked):
        if part.kind.name == refusal.resource_type:
            smaller = replace(part, request=part.kind.exactly(part.request, refusal.largest))
            found.append(fits(snapshots, [*asked[:position], smaller, *asked[position + 1 :]], terms))
    assert any(found)


@settings(max_examples=100)
@given(
    on_hosts=promises([1, 2, 3], shared=True), on_addresses=promises([1, 2], shared=False), raw=requests(), window=SPANS
)
def test_the_most_that_is_available_is_granted_and_nothing_more(
    on_hosts: list[Row], on_addresses: list[Row], raw: dict[str, Any], window: tuple[int, int]
) -> None:
    """Whatever amount the reservation asks for itself."""
    db = {HOST_POOL: (HOSTS, on_hosts), FLOATING_IP_POOL: (ADDRESSES, on_addresses)}
    snapshots, part = snapshots_of(db, DAY), asked_of(raw, 0)
    start, end = max(from_seconds(window[0]), DAY), from_seconds(window[1])
    terms = Terms(Window(start, end), end - start, Margins(), endless())

    def is_granted(amount: int) -> bool:
        request = part.kind.exactly(part.request, amount)
        # Fewer addresses than the reservation names are no request.
        return len(raw.get("required_floatingips", ())) <= amount and fits(
            snapshots, [replace(part, request=request)], terms
        )

    # No host has room for more than four slots.
    granted = [amount for amount in range(1, 4 * len(HOSTS) + 2) if is_granted(amount)]
    assert most_available(part, snapshots[part.kind.pool], terms) == max(granted, default=0)


# ---------------------------------------------------------------- leases of several reservations


def refused(work: Callable[[], object]) -> Refusal:
    with pytest.raises(NotEnoughError) as caught:
        work()
    return caught.value.refusal


def hour_of(world: World, refusal: Refusal) -> float:
    assert refusal.nearest is not None, refusal.sentence
    return (refusal.nearest.start - world.hour(0)).total_seconds() / 3600


FREE_LATER = {
    "hosts from hour 2 on and addresses from hour 4 on": (
        [(hosts(5), 0, 2), (floating_ips(5), 1, 4)],
        [hosts(1), floating_ips(1)],
        4,
    ),
    "one host from hour 2 on, two from hour 4 on, and one for each reservation from hour 6 on": (
        [(hosts(4), 0, 2), (hosts(1), 0, 4), (hosts(3), 2, 6)],
        [hosts(1), instances(16, 1, affinity=True), hosts(1)],
        6,
    ),
}
"""What other leases have, with start and end, the reservations of a lease, and the hour at which they first fit."""


@pytest.mark.parametrize(("others", "asked", "hour"), FREE_LATER.values(), ids=FREE_LATER)
def test_the_nearest_window_has_room_for_every_reservation(
    world: World, others: list[tuple[dict[str, Any], int, int]], asked: list[dict[str, Any]], hour: int
) -> None:
    for other, start, end in others:
        world.lease(other, start=start, end=end)
    assert hour_of(world, refused(lambda: world.lease(*asked, start=1, end=2))) == hour
    assert world.lease(*asked, start=hour, end=hour + 1)


def test_the_largest_amount_leaves_the_other_reservations_theirs(world: World) -> None:
    refusal = refused(lambda: world.lease(hosts(6), hosts(2), start=1, end=2))
    assert refusal.largest == 3
    assert "6 asked, 5 free (5 enrolled, 5 matching, 5 healthy, 5 free in the window), 3 beside" in refusal.sentence
    assert world.lease(hosts(3), hosts(2), start=1, end=2)


@pytest.mark.parametrize(
    ("asked", "alone", "largest", "advice"),
    [
        ((hosts(5), hosts(1)), 5, 0, "Ask for less in the other reservations."),
        ((hosts(1, 5), hosts(3)), 5, 0, "Ask for less in the other reservations."),
        ((hosts(3), hosts(3)), 5, 2, "Ask for at most 2."),
        ((hosts(5), instances(1)), 40, 0, "Ask for less in the other reservations."),
        ((floating_ips(6), hosts(6)), 5, 0, "Ask for at most 5, and for less in the other reservations."),
        ((hosts(6), floating_ips(6)), 5, 0, "Ask for at most 5, and for less in the other reservations."),
    ],
)
def test_a_refusal_tells_what_is_free_from_what_the_other_reservations_leave(
    world: World, asked: Sequence[dict[str, Any]], alone: int, largest: int, advice: str
) -> None:
    refusal = refused(lambda: world.lease(*asked, start=1, end=2))
    assert (refusal.alone, refusal.largest, refusal.as_details()["alone"]) == (alone, largest, alone)
    said = f" asked, {alone} free ("
    assert said in refusal.sentence
    assert refusal.sentence.endswith(f"), {largest} beside the other reservations of the lease. {advice}")
    assert refusal.steps[-1].remaining == 5


def test_a_refusal_does_not_say_that_waiting_is_in_vain_while_a_host_may_work_again(world: World) -> None:
    wish = hosts(resource_properties='["in", "$hypervisor_hostname", "cmp-01", "cmp-02"]')
    world.fail("cmp-01")
    assert refused(lambda: world.lease({**wish, "min": 2, "max": 2})).sentence.endswith("Ask for at most 1.")
    world.fail("cmp-02")
    assert refused(lambda: world.lease(wish)).sentence.endswith("Change the properties you ask for.")


# ---------------------------------------------------------------- unreleased hosts


def test_a_host_that_is_not_given_back_is_not_offered(world: World) -> None:
    world.lease(hosts(5), start=0, end=1)
    run_until(world, world.hour(0.5))
    world.clock.set(world.hour(1) + timedelta(seconds=20))
    refusal = refused(lambda: world.lease(hosts(1), start=1, end=2))
    assert (refusal.nearest, refusal.no_window) == (None, NoWindow.UNRELEASED)
    assert "not released yet" in refusal.sentence
    assert "waiting does not help" not in refusal.sentence
    run_manager(world)
    assert world.lease(hosts(1), start=1, end=2)


# ---------------------------------------------------------------- amendments


def test_an_amendment_is_offered_a_window_for_all_of_it(world: World) -> None:
    lease = world.lease(hosts(1), floating_ips(1), start=1, end=2)
    world.lease(hosts(4), start=2, end=5)
    world.lease(floating_ips(5), start=2, end=7)
    more = {"min": 3, "max": 3}
    assert hour_of(world, refused(lambda: world.amend(lease, more, start=2, end=3))) == 7
    assert world.amend(lease, more, start=7, end=8).window.start == world.hour(7)


def test_a_lease_that_has_started_is_offered_no_other_window(world: World) -> None:
    lease = world.lease(hosts(1), start=0, end=2)
    world.lease(hosts(3), start=0, end=4)
    run_until(world, world.hour(0.5))
    before = dump(world.engine)
    refusal = refused(lambda: world.amend(lease, {"min": 3, "max": 3}))
    assert dump(world.engine) == before
    assert (refusal.nearest, refusal.no_window, refusal.largest) == (None, NoWindow.STARTED, 2)
    assert world.amend(lease, {"min": 2, "max": 2})


@settings(max_examples=100)
@given(
    on_hosts=promises([1, 2, 3], shared=True),
    on_addresses=promises([1, 2], shared=False),
    parts=st.lists(requests(), min_size=1, max_size=3),
    window=SPANS,
    longer=st.integers(1, 12),
    firm=st.booleans(),
)
def test_a_shorter_extension_is_offered_that_is_granted_and_none_longer_is(
    on_hosts: list[Row],
    on_addresses: list[Row],
    parts: list[dict[str, Any]],
    window: tuple[int, int],
    longer: int,
    *,
    firm: bool,
) -> None:
    """For the whole lease, whichever types its reservations have."""
    db = {HOST_POOL: (HOSTS, on_hosts), FLOATING_IP_POOL: (ADDRESSES, on_addresses)}
    snapshots, asked = snapshots_of(db, DAY), [asked_of(raw, place) for place, raw in enumerate(parts)]
    start, end = max(from_seconds(window[0]), DAY), from_seconds(window[1])
    terms = Terms(Window(start, end), end - start, Margins(), endless())
    try:
        held = decide(snapshots, asked, terms)
    except RefusedError:
        return
    kept = [
        replace(part, held=tuple(picks), firm=firm, before=part.request)
        for part, picks in zip(asked, held, strict=True)
    ]
    asked_end = end + timedelta(minutes=longer, seconds=20)

    def is_granted(until: datetime) -> bool:
        try:
            return fits(snapshots, kept, replace(terms, window=Window(start, until), length=until - start))
        except InUseError:
            return False

    wanted = replace(terms, window=Window(start, asked_end), length=asked_end - start)
    proposal = Proposal(snapshots, kept, wanted, lambda _: True, 1.0, movable=False, extended=end)
    try:
        proposal.decide()
    except NotEnoughError as error:
        offered = error.refusal.latest_end
    except InUseError as error:
        found = error.details.get("latest_end")
        offered = found and datetime.fromisoformat(found)
    else:
        return
    later = [end + timedelta(minutes=minute) for minute in range(1, longer + 1)]
    assert offered == max(filter(is_granted, later), default=None)


@pytest.mark.parametrize("asked_end", [4.5, 3.5])
def test_a_shorter_extension_is_offered_for_all_of_the_lease(world: World, asked_end: float) -> None:
    """Others have all hosts from hour 4 on, and all addresses from hour 3.25 on."""
    lease = world.lease(hosts(2), floating_ips(1), start=0, end=2)
    run_until(world, world.hour(0.5))
    world.lease(hosts(5), start=4, end=6)
    world.lease(floating_ips(5), start=3.25, end=5)
    before = dump(world.engine)
    with pytest.raises(InUseError) as caught:
        world.amend(lease, end=asked_end)
    latest = world.hour(3.25)
    assert "in use" in caught.value.message
    assert caught.value.message.endswith(f"It can be extended until {latest:%Y-%m-%d %H:%M:%S} UTC.")
    assert caught.value.details == {"latest_end": latest.isoformat()}
    assert dump(world.engine) == before
    assert world.amend(lease, end=3.25).window.end == latest


def test_a_lease_that_has_not_started_is_offered_a_shorter_extension_too(world: World) -> None:
    lease = world.lease(hosts(2), start=1, end=2)
    world.lease(hosts(5), start=3, end=6)
    refusal = refused(lambda: world.amend(lease, end=4))
    assert (refusal.latest_end, hour_of(world, refusal)) == (world.hour(3), 6)
    assert refusal.as_details()["latest_end"] == world.hour(3).isoformat()
    assert f"It can be extended until {world.hour(3):%Y-%m-%d %H:%M:%S} UTC." in refusal.sentence
    assert world.amend(lease, end=3).window.end == world.hour(3)


def test_nothing_is_offered_where_no_extension_is_possible(world: World) -> None:
    lease = world.lease(hosts(2), start=0, end=2)
    run_until(world, world.hour(0.5))
    world.lease(hosts(5), start=2, end=6)
    with pytest.raises(InUseError) as caught:
        world.amend(lease, end=3)
    assert "latest_end" not in caught.value.details
    assert "can be extended" not in caught.value.message


# ---------------------------------------------------------------- limits on leases and on the decision's time


def test_what_the_horizon_forbids_is_not_offered(world: World) -> None:
    world.lease(hosts(5), start=0, end=4)
    limits = LimitSettings(end_lookahead=timedelta(hours=4.5))
    world = world.with_settings(leases=LeaseSettings(enforcement_filters=("MaxLookaheadFilter",), limits=limits))
    refusal = refused(lambda: world.lease(hosts(1), start=1, end=2))
    assert (refusal.nearest, refusal.no_window) == (None, NoWindow.LIMITS)
    assert hour_of(world, refused(lambda: world.lease(hosts(1), start=1, end=1.5))) == 4


def test_what_the_totals_forbid_is_not_offered(world: World) -> None:
    """Hosts are free from the second hour on, but then another lease of the project uses up its total."""
    world.lease(hosts(5), start=0, end=2, caller=ALT)
    world.lease(hosts(2), start=2, end=4)
    world = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 2})))
    refusal = refused(lambda: world.lease(hosts(1), start=1, end=2))
    assert (refusal.nearest, refusal.no_window) == (None, NoWindow.LIMITS)


class Ticking:
    """A clock that advances by a second at each reading."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


def slow(world: World, **leases: Any) -> World:
    """Return the world with these limits on the time of a decision, and a clock that ticks."""
    settings = replace(world.service.settings, leases=LeaseSettings(**leases))
    return replace(world, service=replace(world.service, settings=settings, steady=Ticking()))


@pytest.mark.parametrize("way", ["create", "amend"])
def test_a_decision_that_takes_too_long_is_refused_and_leaves_no_trace(world: World, way: str) -> None:
    lease = world.lease(*[hosts(1)] * 4, start=3, end=4)
    hurried = slow(world, decision_seconds=3.5)
    before = dump(world.engine)
    with pytest.raises(TakesTooLongError) as caught:
        hurried.amend(lease, end=5) if way == "amend" else hurried.lease(*[hosts(1)] * 5, start=1, end=2)
    assert (caught.value.code, caught.value.status) == ("leasehold.decision.too_long", 409)
    assert "Ask for less" in caught.value.message
    assert dump(world.engine) == before
    assert hurried.lease(*[hosts(1)] * 2, start=1, end=2)


def test_an_offer_that_is_not_found_in_time_is_not_made(world: World) -> None:
    world.lease(hosts(5), start=0, end=2)
    hurried = slow(world, decision_seconds=100.0, explanation_seconds=0.5)
    refusal = refused(lambda: hurried.lease(hosts(1), start=1, end=2))
    assert (refusal.nearest, refusal.no_window) == (None, NoWindow.TIME)
    assert refusal.as_details()["no_window"] == "time"
    assert "ran out of time" in refusal.sentence
