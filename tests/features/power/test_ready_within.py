"""A lease for now, while everything is asleep: the refusal says when it is ready, and it can be had at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.features.power.machines import wake_machine
from leasehold.features.power.rounds import known
from leasehold.features.power.use import put_to_sleep
from leasehold.leasing.create import create_lease, try_creation
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidInputError, LeaseholdError, NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import OPEN_END, Window
from tests.factory import AT_ONCE, DEMO, hosts, instances
from tests.features.power.night import CLASS, HOSTS, WAKES, Night, night
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)


def asleep(site: Night) -> None:
    """Decide that all hosts sleep; no machine is switched."""
    with site.world.service.db.reading() as connection:
        found = known(site.world.service, connection)
    for host in found.hosts.values():
        assert put_to_sleep(site.world.service, host, CLASS.name, WAKES, timedelta(0))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Night]:
    with night(tmp_path) as made:
        yield made


def wish(site: Night, within: timedelta | None, *parts: dict[str, Any], **more: Any) -> LeaseDraft:
    """Return a request for an hour from now on."""
    now = site.world.now()
    asked = parts or (hosts(3),)
    return replace(LeaseDraft("l", now, now + timedelta(hours=1), reservations=asked, ready_within=within), **more)


def ask(site: Night, within: timedelta | None, *parts: dict[str, Any], **more: Any) -> Lease:
    return create_lease(site.world.service, DEMO, wish(site, within, *parts, **more))


@pytest.mark.parametrize("cleaning", [5, 20])
def test_a_host_that_sleeps_is_clean(cleaning: int, tmp_path: Path) -> None:
    """It waited for the cleaning time after it was on, although nobody had used it for so long."""
    with night(tmp_path, leases=replace(AT_ONCE.leases, cleaning_time=timedelta(minutes=cleaning))) as site:
        site.fall_asleep()
        with pytest.raises(NotEnoughError, match=rf"ready in {max(11, cleaning + 1)} min\.") as refused:
            ask(site, timedelta(0))
        lease = ask(site, timedelta(seconds=refused.value.details["ready_within_seconds"]))
        site.run_until(lease.window.start)
        assert site.world.status(lease) == "ACTIVE"


def test_a_wait_of_hours_is_said_in_hours(site: Night) -> None:
    site.fall_asleep()
    now = (site.world.now() - site.world.hour(0)) / timedelta(hours=1)
    site.world.lease(hosts(4), start=now + 1, end=now + 5)
    with pytest.raises(NotEnoughError, match=r"What would do is ready in 5 h \d+ min\."):
        site.world.lease(hosts(1), start=now, end=now + 0.95)


def test_a_refusal_says_when_it_is_ready_and_what_to_send(site: Night) -> None:
    site.fall_asleep()
    with pytest.raises(NotEnoughError) as refused:
        ask(site, timedelta(0))
    error = refused.value
    assert "What would do is ready in 11 min. To get it then, send" in error.message
    within = timedelta(seconds=error.details["ready_within_seconds"])
    assert f"send ready_within_seconds {int(within.total_seconds())} as well." in error.message
    # A person has read that, and asks again.
    site.run_for(minutes=3)
    lease = ask(site, within)
    assert lease.window.duration == timedelta(hours=1)
    ready = max(site.machine(name).ready_at or lease.window.start for name in HOSTS[:3])
    assert ready <= lease.window.start < ready + MINUTE
    site.run_until(lease.window.start)
    assert site.world.status(lease) == "ACTIVE"
    audit(site.world)


@pytest.mark.parametrize("type_", [LeaseType.SCHEDULED, LeaseType.IMMEDIATE])
def test_who_cannot_say_so_is_not_told_to(type_: LeaseType, site: Night) -> None:
    asleep(site)
    with pytest.raises(NotEnoughError, match=r"ready in 10 min\. Ask for a start some minutes after that\.") as refused:
        ask(site, None if type_ is LeaseType.SCHEDULED else timedelta(0), type=type_)
    assert "ready_within_seconds" not in refused.value.details


def test_too_soon_is_refused_with_the_nearest(site: Night) -> None:
    asleep(site)
    with pytest.raises(NotEnoughError) as refused:
        ask(site, WAKES - MINUTE)
    assert refused.value.details["nearest"]["start"] == (site.world.now() + WAKES).isoformat()


def test_what_fits_now_begins_now(site: Night) -> None:
    lease = ask(site, timedelta(minutes=30))
    assert lease.window.start == site.world.now()
    site.step()
    assert site.world.status(lease) == "ACTIVE"


def test_a_dry_run_shows_the_start_and_leaves_nothing(site: Night) -> None:
    asleep(site)
    draft = wish(site, timedelta(minutes=20))
    tried = try_creation(site.world.service, DEMO, draft)
    assert tried.window == ask(site, timedelta(minutes=20)).window


def test_its_dates_move_with_it(site: Night) -> None:
    asleep(site)
    lease = ask(site, timedelta(minutes=20))
    times = {event.type: event.time for event in lease.events}
    assert times["start_lease"] == lease.window.start
    assert times["end_lease"] == lease.window.end == lease.window.start + timedelta(hours=1)


def test_one_without_an_end_begins_later_and_still_has_none(site: Night) -> None:
    world = site.world.with_settings(leases=replace(site.world.service.settings.leases, open_ended=timedelta(days=7)))
    asleep(site)
    lease = create_lease(world.service, DEMO, wish(site, timedelta(minutes=20), end=OPEN_END, open_ended=True))
    assert lease.window == Window(lease.window.start, OPEN_END)
    assert WAKES <= lease.window.start - world.now() <= WAKES + 2 * MINUTE


@pytest.mark.parametrize("type_", [LeaseType.IMMEDIATE, LeaseType.RETRY, LeaseType.BEST_EFFORT])
def test_it_is_for_leases_that_do_not_wait(type_: LeaseType, site: Night) -> None:
    with pytest.raises(InvalidInputError, match="scheduled") as refused:
        ask(site, MINUTE, type=type_)
    assert refused.value.field == "ready_within_seconds"


EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 50), st.booleans()), min_size=1, max_size=6
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.sampled_from([hosts(1), hosts(2), hosts(3), instances(9)]), st.integers(1, 45), st.integers(5, 90))
def test_it_begins_at_the_first_minute_at_which_it_would_be_granted(
    others: list[tuple[int, int, int, bool]], part: dict[str, Any], slack: int, lasts: int
) -> None:
    with TemporaryDirectory() as folder, night(Path(folder)) as site:
        asleep(site)
        now = site.world.now()
        for number, start, minutes, wakes in others:
            if wakes:
                wake_machine(site.world.service, site.world.host(HOSTS[number]).id)
                site.world.clock.advance(minutes=2)
            begin = now + (start + 15) * MINUTE
            with suppress(LeaseholdError):
                draft = wish(site, None, hosts(1), start=begin, end=begin + minutes * MINUTE)
                create_lease(site.world.service, DEMO, draft)
        within, length, now = timedelta(minutes=slack), timedelta(minutes=lasts), site.world.now()
        draft = wish(site, within, part, end=now + length)
        # For another start than the one that is asked for nobody else moves.
        leases = replace(site.world.service.settings.leases, rebinding_seconds=0.0)
        service = site.world.with_settings(leases=leases).service
        expected = first_by_trying(service, replace(draft, ready_within=None), now + within)
        try:
            found = create_lease(service, DEMO, draft).window
        except NotEnoughError:
            found = None
        assert found == expected
        audit(site.world)


def first_by_trying(service: Service, draft: LeaseDraft, last: datetime) -> Window | None:
    """Return the first window in which the lease would be granted, by trying each minute."""
    length = draft.end - draft.start
    while draft.start <= last:
        with suppress(NotEnoughError):
            return try_creation(service, DEMO, draft).window
        start = draft.start.replace(second=0) + MINUTE
        draft = replace(draft, start=start, end=start + length)
    return None
