"""Feature K2: hosts are used until something is promised on them, and no promise ever waits for that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.db.tables import pools, resources
from leasehold.features.filler.model import ASKED, CLOSED, FAILED, NEEDED, OVER, TooManyFilledHostsError
from leasehold.features.filler.options import FillerClass
from leasehold.features.filler.rounds import Rounds
from leasehold.features.filler.store import filled_hosts, fillers
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError
from leasehold.model.properties import parse
from leasehold.model.resource import HOST, Health
from leasehold.model.terms.lease_type import LeaseType
from leasehold.resource_types.end_actions.image_results import shown_results
from tests.factory import at_call, dies_at, hosts, instances
from tests.features.filler.site import HOSTS, MEMBER, USUAL, Site, site
from tests.features.power.night import night

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import RowMapping, Table

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        yield made


def news(here: Site) -> list[str]:
    """Return the types of the events of fillers."""
    with here.world.service.db.reading() as connection:
        rows = connection.exec_driver_sql("SELECT event_type FROM outbox WHERE event_type LIKE 'filler.%' ORDER BY id")
        return [row[0] for row in rows]


def test_it_is_used_until_a_lease_needs_it(here: Site) -> None:
    world = here.world
    filler = here.active(4, request={"before_end": ""})
    servers = [here.boot(filler, position) for position in range(4)]
    assert sorted(each.service_host or "" for each in servers) == sorted(HOSTS)
    assert here.guaranteed(filler) == [None] * 4
    here.checked()
    lease = world.lease(hosts(2), start=here.hours + 1 / 2, end=here.hours + 2)
    (start,) = {each.window.start for each in [world.get(lease)]}
    here.step()
    assert news(here) == ["filler.guarantee"] * 2
    certain = [each for each in here.guaranteed(filler) if each is not None]
    assert certain == [start - here.settings.leaving] * 2
    here.run_until(start - here.settings.takes - MINUTE)
    assert set(here.labels(filler).values()) == {"active"}
    here.run_until(certain[0] - timedelta(seconds=1))
    assert len(world.servers()) == 4
    assert {name for name, state in here.labels(filler).items() if state == "leaving"} == set(world.holds(lease))
    here.run_until(start)
    assert world.status(lease) == "ACTIVE"
    assert sorted(here.labels(filler).values()) == ["active", "active", "ended", "ended"]
    assert len(world.servers()) == 2
    assert {each.reason for each in here.hosts(filler)} == {None, NEEDED}
    here.checked()
    here.end(filler)
    here.run_for(minutes=1)
    assert set(here.labels(filler).values()) == {"ended"}
    assert not world.servers()
    here.checked()


def test_what_begins_sooner_than_it_can_be_ready_is_offered_later(here: Site) -> None:
    world = here.world
    here.active(4)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(1), start=here.hours, end=here.hours + 1)
    assert refused.value.refusal.nearest is not None
    begin = (refused.value.refusal.nearest.start - world.hour(0)) / timedelta(hours=1)
    assert world.now() + here.settings.takes <= refused.value.refusal.nearest.start
    assert refused.value.refusal.nearest.start < world.now() + here.settings.takes + MINUTE
    lease = world.lease(hosts(4), start=begin, end=begin + 1)
    here.run_until(world.hour(begin))
    assert world.status(lease) == "ACTIVE"


def test_it_gets_the_hosts_that_may_stay_longest_and_no_others(here: Site) -> None:
    world, least = here.world, here.settings.least + here.settings.leaving
    soon = world.lease(hosts(1), start=here.hours + least / timedelta(hours=1) - 1 / 60, end=5)
    later = world.lease(hosts(1), start=here.hours + 2, end=5)
    filler = here.active(1, 4)
    assert set(here.labels(filler)) == set(HOSTS) - set(world.holds(soon))
    here.end(filler)
    here.run_for(minutes=1)
    filler = here.active(2)
    assert set(here.labels(filler)).isdisjoint({*world.holds(soon), *world.holds(later)})
    with pytest.raises(NotEnoughError) as refused:
        here.fill(2)
    assert refused.value.refusal.largest == 1
    assert refused.value.field == "reservation"


def test_limits_and_spares(tmp_path: Path) -> None:
    with site(tmp_path, hosts=2, spares=1) as here:
        filler = here.fill(1, 4)
        assert len(here.hosts(filler)) == 2
        with pytest.raises(TooManyFilledHostsError):
            here.fill(1)
        here.end(filler)
        here.run_for(minutes=1)
        here.world.active(hosts(2), start=here.hours, end=here.hours + 1)
        with pytest.raises(NotEnoughError):
            here.fill(2)
        assert len(here.hosts(here.fill(1, 2))) == 1
    with site(tmp_path, hosts=0) as here, pytest.raises(TooManyFilledHostsError, match="switched off"):
        here.fill(1)


def test_it_ends_when_its_time_is_over(here: Site) -> None:
    end = here.world.now() + timedelta(minutes=30)
    with pytest.raises(InvalidInputError) as refused:
        here.fill(1, ends_at=here.world.now() + MINUTE)
    assert refused.value.field == "end_date"
    filler = here.active(1, ends_at=end)
    assert here.guaranteed(filler) == [end]
    here.boot(filler)
    here.run_until(end - timedelta(seconds=1))
    assert set(here.labels(filler).values()) == {"leaving"}
    assert here.world.servers()
    here.run_for(minutes=1)
    (host,) = here.hosts(filler)
    assert (host.reason, host.leaves_at, here.world.servers()) == (OVER, end, set())


def test_its_servers_are_shelved_or_imaged_before_they_end(here: Site) -> None:
    world = here.world
    shelved = here.active(1, request={"before_end": "shelve"})
    imaged = here.active(1, request={"before_end": "snapshot"})
    kept, lost = here.boot(shelved), here.boot(imaged)
    here.end(shelved)
    here.end(imaged)
    here.run_for(minutes=4)
    assert here.hosts(shelved)[0].ended_at
    assert here.hosts(imaged)[0].ended_at
    assert world.servers() == {kept.id}
    assert here.hosts(shelved)[0].facts["shelved"][0]["status"] == "done"
    (image,) = shown_results(here.hosts(imaged)[0].facts)
    assert (image["server_id"], image["status"]) == (lost.id, "done")
    assert here.hosts(imaged)[0].reason == ASKED
    here.checked()


def test_what_does_not_end_costs_its_host_and_not_the_promise(here: Site) -> None:
    world = here.world
    filler = here.active(1)
    server = here.boot(filler)
    (name,) = here.labels(filler)
    rest = world.lease(hosts(3), start=here.hours, end=here.hours + 1 / 6)
    lease = world.lease(hosts(1), start=here.hours + 1 / 5, end=here.hours + 1)
    lease = lease if name in world.holds(lease) else world.lease(hosts(3), start=here.hours + 1 / 5, end=here.hours + 1)
    start = world.get(lease).window.start
    assert world.status(rest)
    world.refuse("servers.delete")
    here.run_until(start - timedelta(seconds=1))
    assert here.labels(filler) == {name: "overdue"}
    assert name not in world.holds(lease)
    assert world.host(name).health is Health.FAILED
    here.run_until(start + MINUTE)
    assert server.id in world.servers()
    world.cloud.faults.clear()
    here.run_for(minutes=3)
    assert here.labels(filler) == {name: "ended"}
    assert (world.host(name).health, world.host(name).reservable) == (Health.HEALTHY, True)
    here.checked()


def test_a_failed_or_disabled_host_ends_it(here: Site) -> None:
    world = here.world
    filler = here.active(2)
    failed, disabled = here.labels(filler)
    with pytest.raises(InUseError, match="is in use until"):
        resource.remove(world.service, HOST, world.host(disabled).id)
    world.disable(disabled)
    world.fail(failed)
    here.run_for(minutes=15)
    assert set(here.labels(filler).values()) == {"ended"}
    assert sorted(each.reason or "" for each in here.hosts(filler)) == sorted([FAILED, CLOSED])
    resource.remove(world.service, HOST, world.host(disabled).id)


def test_a_lease_for_later_leaves_a_filler_alone_where_other_hosts_are_free(here: Site) -> None:
    world = here.world
    filler = here.active(2)
    lease = world.lease(hosts(2), start=here.hours + 5, end=here.hours + 6)
    assert world.holds(lease).keys().isdisjoint(here.labels(filler))
    assert here.guaranteed(filler) == [None, None]
    world.lease(hosts(1), start=here.hours + 5, end=here.hours + 6)
    assert None in here.guaranteed(filler)
    assert here.guaranteed(filler) != [None, None]


def test_a_class_of_hosts_is_told_longer_ahead(tmp_path: Path) -> None:
    """The others are told as before; a lease for now waits as long as the notice of its own host."""
    long = FillerClass("long", parse('["==", "$hypervisor_hostname", "cmp-07"]', ""), notice=timedelta(minutes=30))
    with site(tmp_path, classes=(long,)) as here:
        world = here.world
        filler = here.active(4)
        world.lease(hosts(4), start=here.hours + 1, end=here.hours + 2)
        here.run_for(minutes=31)
        assert {name for name, stage in here.labels(filler).items() if stage == "leaving"} == {"cmp-07"}
        here.run_for(minutes=20)
        assert set(here.labels(filler).values()) == {"active", "leaving"}
        here.run_for(minutes=10)
        assert set(here.labels(filler).values()) == {"ended"}
        here.checked()


def test_a_lease_that_waits_gets_the_hosts(here: Site) -> None:
    world = here.world
    filler = here.active(4)
    until = world.hour(here.hours + 2)
    lease = world.lease(hosts(3), start=here.hours, end=here.hours + 1, type=LeaseType.WAITLIST, deadline=until)
    assert world.status(lease) == "IN_PROGRESS"
    with pytest.raises(NotEnoughError):
        here.fill(1)
    here.run_for(minutes=20)
    assert (world.status(lease), len(world.holds(lease))) == ("ACTIVE", 3)
    assert sorted(here.labels(filler).values()) == ["active", "ended", "ended", "ended"]


def test_servers_that_were_there_before_are_left_alone(here: Site) -> None:
    """A host with leftover servers is not given to a filler, and whoever gives up does not delete them."""
    world = here.world
    lease = world.active(hosts(4), start=here.hours, end=here.hours + 1)
    stranger = world.boot(lease)
    world.refuse("servers.delete")
    assert stranger.service_host is not None
    world.cloud.faults.clear()
    world.delete(lease)
    here.step()
    filler = here.fill(4)
    here.run_for(minutes=1)
    assert set(here.labels(filler).values()) == {"active"}


def test_preemptible_servers_make_way(here: Site) -> None:
    world = here.world.with_preemptibles()
    spot = world.cloud.servers.boot("spot", "alt", "m1.small", preemptible=True)
    here = Site(world)
    filler = here.active(4)
    assert spot.id not in world.servers()
    here.end(filler)
    here.run_for(minutes=1)
    assert world.cloud.servers.boot("spot", "alt", "m1.small", preemptible=True).service_host in HOSTS
    here.checked()


@pytest.mark.parametrize("number", range(1, 14))
def test_whoever_dies_at_any_call_the_next_one_goes_on(here: Site, number: int) -> None:
    world = here.world
    filler = here.fill(2)
    left = number
    lease = world.lease(hosts(4), start=here.hours + 1 / 2, end=here.hours + 1)
    start = world.get(lease).window.start
    booted = False
    while world.now() < start:
        world.clock.advance(seconds=20)
        if left and dies_at(world, left, here.rounds.run):
            left = 0
            world.clock.advance(seconds=65)
        here.step()
        if not booted and set(here.labels(filler).values()) == {"active"}:
            here.boot(filler)
            booted = True
    assert booted
    assert world.status(lease) == "ACTIVE"
    assert not world.servers()
    here.checked()


def test_of_two_managers_one_is_at_work_on_a_host(here: Site) -> None:
    world = here.world
    filler = here.active(1)
    here.boot(filler)
    here.end(filler)
    other, left = Rounds(world.service), []

    def meanwhile() -> None:
        other.run()
        left.append(here.labels(filler))

    assert at_call(world, 1, here.rounds.run, meanwhile, "servers.delete")
    assert [list(each.values()) for each in left] == [["ending"]]
    here.run_for(minutes=1)
    assert set(here.labels(filler).values()) == {"ended"}
    here.checked()


def test_one_that_holds_all_hosts_keeps_nobody_from_a_promise(here: Site) -> None:
    world = here.world
    filler = here.active(4, at_least=timedelta(days=300), request={"before_end": "shelve"})
    for position in range(4):
        here.boot(filler, position)
    start = here.hours + (here.settings.takes + MINUTE) / timedelta(hours=1)
    lease = world.lease(instances(4), start=start, end=start + 1)
    here.run_until(world.get(lease).window.start)
    assert world.status(lease) == "ACTIVE"


def test_a_host_with_a_filler_does_not_sleep_and_one_that_sleeps_gets_none(tmp_path: Path) -> None:
    with night(tmp_path) as dark:
        service = dark.world.service
        world = replace(dark.world, service=replace(service, settings=service.settings.having(USUAL)))
        here = Site(world)
        filler = here.active(1)
        (name,) = here.labels(filler)
        dark.run_for(minutes=30)
        assert dark.stages() == {each: "on" if each == name else "asleep" for each in HOSTS}
        with pytest.raises(NotEnoughError):
            here.fill(1)
        here.end(filler)
        here.run_for(minutes=1)
        dark.run_for(minutes=30)
        assert set(dark.stages().values()) == {"asleep"}
        here.checked()


def test_a_database_that_went_back_takes_fillers_up_and_touches_nobody_elses_servers(here: Site) -> None:
    world = here.world
    filler = here.active(2)
    here.boot(filler)
    before = [dict(each) for each in rows_of(here, filled_hosts)], [dict(each) for each in rows_of(here, fillers)]
    world.execute(delete(filled_hosts))
    world.execute(delete(fillers))
    world.execute(update(resources).values(waking_seconds=None, generation=resources.c.generation + 100))
    world.execute(update(pools).values(generation=pools.c.generation + 100, nonces=""))
    start = here.hours + 1 / 2
    lease = world.lease(hosts(4), start=start, end=start + 1)
    here = Site(world)
    here.run_until(world.hour(start))
    assert world.status(lease) == "ACTIVE"
    assert {each["reason"] for each in rows_of(here, filled_hosts)} == {NEEDED}
    here.checked()
    # Another backup says that the filler still has the hosts.
    server = world.boot(lease)
    world.execute(delete(filled_hosts))
    world.execute(delete(fillers))
    world.execute(insert(fillers).values(before[1]))
    world.execute(insert(filled_hosts).values(before[0]))
    here.end(filler)
    here.run_for(minutes=5)
    assert server.id in world.servers()
    assert set(here.labels(filler).values()) == {"ended"}
    here.checked()


def rows_of(here: Site, table: Table) -> list[RowMapping]:
    with here.world.service.db.reading() as connection:
        return list(connection.execute(select(table)).mappings())


def test_of_grants_at_the_same_moment_each_sees_the_others(here: Site) -> None:
    """Leases that begin as soon as may be, and fillers, ask for the same hosts in threads."""
    world, settings = here.world, here.settings
    begin = here.hours + (settings.takes + MINUTE) / timedelta(hours=1)

    def lease() -> bool:
        return world.status(world.lease(hosts(1), start=begin, end=begin + 1)) == "PENDING"

    def fill() -> bool:
        return bool(here.hosts(here.fill(1)))

    def attempt(work: Callable[[], bool]) -> bool:
        try:
            return work()
        except NotEnoughError:
            return False

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(attempt, [lease, fill] * 4))
    assert sum(done[::2]) == 4
    assert 0 <= sum(done[1::2]) <= 4
    here.run_until(world.hour(begin) + MINUTE)
    assert {each.status.value for each in queries.each_lease(world.service, None)} == {"ACTIVE"}
    here.checked()


def test_another_projects_filler_is_a_filler_of_its_own(here: Site) -> None:
    first = here.active(2)
    second = here.active(2, caller=MEMBER.__class__("u", "other"))
    assert set(here.labels(first)).isdisjoint(here.labels(second))
    assert here.boot(second).service_host in here.labels(second)
