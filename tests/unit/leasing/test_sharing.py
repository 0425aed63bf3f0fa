"""Feature I7: the project of a lease lets others use what it has."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.ports import CloudPermanentError
from leasehold.db.columns.facts import SHARES
from leasehold.db.tables import reservations
from leasehold.features.lending.model import ClaimSharingError
from leasehold.model.errors import BusyError, ClosedToError, InUseError, NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import ALT, START, flavors, floating_ips, hosts, instances, make_service, run_for
from tests.stateful.audit import audit, audit_cloud
from tests.unit.leasing.looking import findings, mend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

KINDS = pytest.mark.parametrize(
    "asked",
    [hosts(1), hosts(1, on_end="give_back"), instances(2), flavors(2)],
    ids=["hosts", "hosts that stay", "instances", "flavors"],
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02")) as made:
        yield made


def boots(world: World, lease: Lease, project: str = "alt") -> str | None:
    """Boot a server of a project in the lease; return the id of one that runs there, None for one that is refused."""
    part = lease.reservations[0]
    flavor, hint = ("m1.small", [part.id]) if part.resource_type == "physical:host" else (part.id, [])
    try:
        server = world.cloud.servers.boot("theirs", project, flavor, hint)
    except CloudPermanentError:
        return None
    if server.service_host is None:
        world.cloud.servers.delete(server.id)
        return None
    return server.id


def share(world: World, lease: Lease, *projects: str) -> Lease:
    after = world.amend(lease, shared_with=projects)
    run_for(world, seconds=1)
    return after


def checked(world: World) -> None:
    audit(world)
    audit_cloud(world)


@KINDS
def test_another_project_uses_it_until_it_may_no_longer(world: World, asked: dict[str, Any]) -> None:
    lease = world.active(asked, end=2)
    assert boots(world, lease) is None
    assert share(world, lease, "alt", "third").shared_with == ["alt", "third"]
    checked(world)
    theirs, own = boots(world, lease), world.boot(lease).id
    assert theirs is not None
    assert boots(world, lease, "fourth") is None
    share(world, lease, "third")
    assert boots(world, lease) is None
    # What runs there stays until it is deleted, or the lease ends.
    run_for(world, minutes=5)
    assert world.servers() == {theirs, own}
    assert share(world, lease).shared_with == []
    checked(world)


@pytest.mark.parametrize("asked", [hosts(1), instances(2), flavors(2)], ids=["hosts", "instances", "flavors"])
def test_the_end_is_the_end_for_all(world: World, asked: dict[str, Any]) -> None:
    lease = world.lease(asked, start=1, end=2)
    share(world, lease, "alt")
    run_for(world, minutes=61)
    assert boots(world, lease) is not None
    run_for(world, hours=1)
    assert (world.status(lease), world.servers()) == ("TERMINATED", set())
    checked(world)


@pytest.mark.parametrize("asked", [hosts(1), instances(3)], ids=["hosts", "instances"])
def test_while_servers_live_on_nobody_adds_one(world: World, asked: dict[str, Any]) -> None:
    lease = world.active({**asked, "on_end": "recycle", "recycle_seconds": 7200}, end=1)
    share(world, lease, "alt")
    theirs = boots(world, lease)
    run_for(world, minutes=61)
    assert world.servers() == {theirs}
    assert boots(world, lease) is None
    run_for(world, hours=3)
    assert world.servers() == set()
    checked(world)


def test_the_servers_of_others_keep_a_host_in_use(world: World) -> None:
    lease = world.active(hosts(2), end=2)
    share(world, lease, "alt")
    theirs = [boots(world, lease) for _ in range(2)]
    assert None not in theirs
    while {each.service_host for each in world.cloud.servers.all()} != {"cmp-01", "cmp-02"}:
        boots(world, lease)
    with pytest.raises(InUseError) as caught:
        world.amend(lease, {"min": 1, "max": 1}, shrinks=True)
    assert (caught.value.details, "servers of other projects" in caught.value.message) == ({"servers": []}, True)


def test_nothing_but_the_sharing_changes(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    held = world.holds(lease)
    generation = share(world, lease, "alt").generation
    assert share(world, lease, "alt").generation == generation
    assert world.amend(lease, end=3).shared_with == ["alt"]
    assert (world.holds(lease), world.told(lease)[-1]) == (held, ("lease.update", "ACTIVE"))


@KINDS
def test_who_may_use_it_no_longer_is_forgotten(world: World, asked: dict[str, Any]) -> None:
    lease = world.active(asked, end=2)
    name = lease.reservations[0].id

    def known() -> tuple[set[str], set[str], set[str]]:
        aggregate, flavor = world.cloud.aggregates.get(name), world.cloud.flavors.get(name)
        assert aggregate is not None
        keys = {key for key in aggregate.metadata if key.startswith("project-")}
        access = {each for each in (flavor.projects if flavor else ()) if each.startswith("project-")}
        return set(world.get(lease).reservations[0].shares), keys, access

    before: set[str] = set()
    for turn in range(4):
        projects = {f"project-{turn}-{number}" for number in range(6)}
        share(world, lease, *projects)
        facts, keys, access = known()
        # The cloud is told of those before once more.
        assert facts == projects | before
        before = projects
        if asked["resource_type"] == "physical:host":
            assert keys == projects
        else:
            assert (keys, access) == (set(), projects)
    share(world, lease)
    assert known() == (before, set(), set())
    share(world, lease, "alt")
    share(world, lease)
    assert known() == ({"alt"}, set(), set())
    checked(world)


def test_a_worker_that_is_late_lets_nobody_in_for_good(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    name = lease.reservations[0].id
    share(world, lease, "alt")
    share(world, lease)
    assert boots(world, lease) is None
    # The call of a worker that has lost its claim comes after the one that took the project off.
    world.cloud.aggregates.ensure(name, f"blazar_{name}", {"alt": "true"})
    assert boots(world, lease) is not None
    share(world, lease, "third")
    assert boots(world, lease) is None
    assert world.get(lease).reservations[0].shares == {"third": True}


def test_who_is_taken_off_while_a_step_runs_is_told_to_the_cloud_later(world: World) -> None:
    lease = world.active(instances(2), end=2)
    world.amend(lease, shared_with=("alt",))
    world.break_down("flavors.grant")
    run_for(world, seconds=1)
    world.amend(lease, shared_with=())
    assert world.get(lease).reservations[0].shares == {"alt": False}
    world.cloud.faults.clear()
    run_for(world, minutes=2)
    assert world.get(lease).reservations[0].shares == {"alt": None}
    assert boots(world, lease) is None


def test_the_audit_sees_who_is_still_let_in(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    share(world, lease, "alt")
    facts = world.get(lease).reservations[0].cloud
    world.execute(update(reservations).values(cloud={**facts, SHARES: {"alt": False}}))
    (found,) = findings(world)
    assert (found.subject, "still has the metadata alt" in found.what) == (lease.id, True)
    assert all(mend(world))
    run_for(world, seconds=1)
    assert (findings(world), boots(world, lease)) == ([], None)


def test_many_are_not_taken_off_before_the_cloud_is_told(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    world.break_down()

    def shared_anew() -> None:
        for turn in range(20):
            world.amend(lease, shared_with=tuple(f"project-{turn}-{number}" for number in range(6)))

    with pytest.raises(BusyError, match="to be told that 36 projects") as caught:
        shared_anew()
    assert caught.value.field == "shared_with"
    assert len(world.get(lease).reservations[0].shares) == 36
    world.cloud.faults.clear()
    run_for(world, minutes=5)
    assert False not in world.get(lease).reservations[0].shares.values()
    assert share(world, lease, "alt").shared_with == ["alt"]
    checked(world)


def test_nobody_is_remembered_where_the_cloud_has_nothing(world: World) -> None:
    held = world.active(hosts(2), end=1)
    waits = world.lease(hosts(2), start=0.1, end=0.9, type=LeaseType.WAITLIST, deadline=world.hour(0.5))
    run_for(world, minutes=65)
    assert (world.status(held), world.status(waits)) == ("TERMINATED", "TIMEDOUT")
    dropped = world.active(hosts(1), instances(1), start=1.1, end=3)
    world.amend(dropped, drops=frozenset({dropped.reservations[1].id}))
    run_for(world, minutes=5)
    for turn in range(12):
        projects = tuple(f"project-{turn}-{number}" for number in range(6))
        for lease in (held, waits, dropped):
            assert share(world, lease, *projects).shared_with == list(projects)
            gone = [part for part in world.get(lease).reservations if part.dropped or lease is not dropped]
            assert [set(part.shares) for part in gone] == [set(projects)]


# ---------------------------------------------------------------- what is for some projects alone


@KINDS
def test_nobody_is_let_into_what_is_closed_to_them(world: World, asked: dict[str, Any]) -> None:
    world.restrict(["demo", "third"], "cmp-01", "cmp-02")
    lease = world.active(asked, end=2)
    for more in ({}, {"name": "n"}, {"end": 3}):
        with pytest.raises(ClosedToError, match="closed to alt") as caught:
            world.amend(lease, shared_with=("alt", "third"), **more)
        assert (caught.value.field, caught.value.details) == ("shared_with", {"projects": ["alt"]})
    assert world.get(lease).shared_with == []
    assert share(world, lease, "third").shared_with == ["third"]
    world.restrict(None, "cmp-01", "cmp-02")
    assert share(world, lease, "alt", "third").shared_with == ["alt", "third"]


def test_addresses_are_not_shared_and_may_be_closed(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=("cmp-01",), addresses=(201, 202, 203)) as world:
        labels = [each.label for each in world.addresses.values()]
        world.restrict(["demo"], *labels)
        lease = world.active(hosts(1), floating_ips(1), end=2)
        assert share(world, lease, "alt").shared_with == ["alt"]
        # It may still get one that is closed to the other project.
        assert len(world.holds(world.amend(lease, {"amount": 2}, 1), 1)) == 2


def test_what_it_gets_later_is_open_to_all_that_use_it(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    share(world, lease, "alt")
    world.restrict(["demo"], "cmp-02")
    assert set(world.holds(lease)) == {"cmp-01"}
    with pytest.raises(NotEnoughError):
        world.amend(lease, {"min": 2, "max": 2})
    with pytest.raises(NotEnoughError):
        world.swap(lease, host="cmp-01")
    world.fail("cmp-01")
    run_for(world, minutes=5)
    assert world.holds(lease).keys() <= {"cmp-01"}
    share(world, lease)
    world.heal_now(lease)
    assert set(world.holds(lease)) == {"cmp-02"}


def test_it_does_not_make_room_on_what_is_closed_to_them(world: World) -> None:
    world.restrict(["demo"], "cmp-02")
    later = world.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-01"]'), start=5, end=6)
    moves = world.lease(hosts(1), start=2, end=3)
    assert set(world.holds(moves)) == {"cmp-01"}
    share(world, moves, "alt")
    wish = hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-01"]')
    with pytest.raises(NotEnoughError):
        world.lease(wish, start=2, end=3, caller=ALT)
    share(world, moves)
    assert set(world.holds(world.lease(wish, start=2, end=3, caller=ALT))) == {"cmp-01"}
    assert set(world.holds(moves)) == {"cmp-02"}
    assert set(world.holds(later)) == {"cmp-01"}


def test_what_comes_back_is_open_to_all_that_use_it(world: World) -> None:
    world.restrict(["demo", "alt"], "cmp-01", "cmp-02")
    lease = world.active(hosts(2), end=4)
    world.clock.advance(minutes=1)
    world.claim(world.offer_part(lease, 2, end=3), end=2, amount=2)
    with pytest.raises(ClosedToError):
        world.amend(lease, shared_with=("third",))


@pytest.mark.parametrize("of", ["an owner", "a lessee"])
def test_a_claim_is_for_those_to_whom_the_offer_is_open(world: World, of: str) -> None:
    def claimed(**more: Any) -> Lease:
        if of == "an owner":
            world.give("demo", "cmp-01", "cmp-02")
            offer = world.publish("cmp-01" if more else "cmp-02", end=10, **more)
        else:
            lease = world.active(hosts(1), start=(world.now() - START) / timedelta(hours=1), end=4)
            world.clock.advance(minutes=1)
            offer = world.offer_part(lease, 1, **more)
        made = world.claim(offer, end=2)
        run_for(world, minutes=2)
        return made

    mine = claimed(for_project="alt")
    with pytest.raises(ClaimSharingError, match="not open to third") as caught:
        world.amend(mine, shared_with=("third",))
    assert (caught.value.field, caught.value.details) == ("shared_with", {"projects": ["third"]})
    assert share(world, claimed(), "third").shared_with == ["third"]
