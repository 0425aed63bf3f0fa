"""Features A6 and A7: the service reaches every row of the table, from every state of the row, and every status.

`SCENES` are lives of leases on the sandbox. What they reach is recorded twice: the rows that are taken, and, by
triggers of the database, the changes of statuses that are stored. A row or a status that no scene reaches is missing
here, or has no place in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text, update

from leasehold.db.tables import leases
from leasehold.features.held_offer.use import accept_offer, give_up_offer, make_offer
from leasehold.features.lending.publish import withdraw
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.delete import take_back
from leasehold.model import transitions
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.terms.notice import notice_of
from leasehold.model.transitions import TABLE, Trigger
from tests.factory import (
    DEMO,
    during_a_step,
    floating_ips,
    hosts,
    instances,
    killed_in_a_step,
    make_service,
    run_for,
    run_manager,
    run_until,
    run_until_refused_often,
)
from tests.mishaps import take_to_upload
from tests.stateful.moves import ALLOWED, note_moves, noted_moves

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow


STORED = frozenset(LeaseStatus) - {LeaseStatus.CREATING, LeaseStatus.UPDATING}
"""The statuses of leases in the database; the other two are said to other services and to the message bus only."""
HOSTS = ("cmp-01", "cmp-02", "cmp-06")
ALL = hosts(len(HOSTS))
DAY = timedelta(days=1)
TAKEN_OVER = {("start_lease", "DONE", "IN_PROGRESS")}
"""Blazar sets ERROR also after a start that is done; the start of a lease that is taken over so is run again."""
OWN = transitions.OWN
"""The type of events that a client adds here, and the word by which the table means all of these of any type."""
SCENES: list[Callable[[World], None]] = []


@dataclass(slots=True)
class Reached:
    """What the scenes have reached: the rows of the table by the state of the lease, and the changes of statuses."""

    rows: set[tuple[int, LeaseStatus]] = field(default_factory=set)
    moves: set[tuple[str, str, str]] = field(default_factory=set)

    def take(self, lease: Lease, trigger: Trigger) -> transitions.Transition:
        """Note the row that the trigger takes, and return it."""
        row = _ROW_OF(lease, trigger)
        self.rows.add((TABLE.index(row), lease.status))
        return row


_ROW_OF = transitions._row


def scene(work: Callable[[World], None]) -> Callable[[World], None]:
    SCENES.append(work)
    return work


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Reached:
    """Return what all scenes have reached, each in a world of its own; what chooses a row is watched, not replaced."""
    found = Reached()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transitions, "_row", found.take)
        for work in SCENES:
            with make_service(tmp_path_factory.mktemp("scene"), hosts=HOSTS, addresses=(200,)) as world:
                note_moves(world.engine)
                work(world)
                found.moves |= noted_moves(world.engine)
    return found


def test_every_row_is_taken_from_every_state_of_it(reached: Reached) -> None:
    wanted = {(index, state) for index, row in enumerate(TABLE) for state in row.states}
    missing = sorted(wanted - reached.rows)
    assert [(TABLE[index].trigger.value, index, state.value) for index, state in missing] == []


def test_every_status_is_stored_and_every_change_of_one_that_the_contract_knows(reached: Reached) -> None:
    allowed = {(what, old, new) for what, of in ALLOWED.items() for old, after in of.items() for new in after.split()}
    assert reached.moves == allowed | TAKEN_OVER | {(OWN, "UNDONE", "DONE")}
    stored = {status for what, *moved in reached.moves if what == "leases" for status in moved}
    assert stored == {state.value for row in TABLE for state in row.states} == {state.value for state in STORED}


# ------------------------------------------------------------ from the start to the end


@scene
def a_whole_life(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=4)
    run_until(world, world.hour(4))
    world.delete(lease)
    run_manager(world)


@scene
def a_start_and_an_end_are_interrupted(world: World) -> None:
    world.lease(hosts(), end=3)
    killed_in_a_step(world)
    run_until(world, world.hour(2.9))
    world.clock.set(world.hour(3))
    killed_in_a_step(world)
    run_until(world, world.hour(4))


@scene
def a_start_is_interrupted_until_the_end(world: World) -> None:
    world.lease(hosts(), end=3)
    killed_in_a_step(world)
    world.clock.set(world.hour(3))
    run_manager(world)


@scene
def a_start_is_deleted(world: World) -> None:
    lease = world.lease(hosts(), end=3)
    during_a_step(world, lambda: world.delete(lease))
    run_manager(world)


@scene
def an_active_lease_is_deleted(world: World) -> None:
    world.delete(world.active(hosts()))
    run_manager(world)


@scene
def an_end_is_deleted(world: World) -> None:
    lease = world.active(hosts())
    world.clock.set(world.hour(1))
    during_a_step(world, lambda: world.delete(lease))
    run_manager(world)


@scene
def a_pending_lease_is_deleted(world: World) -> None:
    world.delete(world.lease(hosts(), start=1, end=2))
    run_manager(world)


@scene
def nobody_starts_it(world: World) -> None:
    world.lease(hosts(), start=1, end=2)
    world.clock.set(world.hour(3))
    run_manager(world)


@scene
def it_is_cut_to_nothing(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    world.amend(lease, end=1)
    run_until(world, world.hour(2))


# ------------------------------------------------------------ failures


@scene
def a_start_fails_and_is_made_good(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=5)
    run_for(world, minutes=30)
    assert world.status(lease) == "ERROR"
    world.cloud.faults.clear()
    run_for(world, minutes=30)
    assert world.status(lease) == "ACTIVE"


@scene
def a_start_fails_until_the_end(world: World) -> None:
    world.refuse("aggregates.add_host")
    world.lease(hosts(), end=1)
    run_until(world, world.hour(0.9))
    world.clock.set(world.hour(1))
    world.cloud.faults.clear()
    run_manager(world)


@scene
def a_failed_start_is_amended(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=5)
    run_until_refused_often(world)
    world.amend(lease, end=6)
    assert world.status(lease) == "STARTING"


@scene
def a_failed_start_is_deleted(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=5)
    run_until_refused_often(world)
    world.delete(lease)
    assert world.status(lease) == "DELETING"


@scene
def an_end_fails_and_is_made_good(world: World) -> None:
    lease = world.active(hosts())
    world.refuse("aggregates.remove_host")
    run_until(world, world.hour(1.5))
    assert world.status(lease) == "ERROR"
    world.cloud.faults.clear()
    run_until(world, world.hour(2))
    assert world.status(lease) == "TERMINATED"
    world.amend(lease, name="renamed")


@scene
def an_end_without_a_start_fails(world: World) -> None:
    lease = world.lease(hosts(), end=1, start=0.5)
    run_manager(world)
    world.refuse("aggregates.delete")
    world.clock.set(world.hour(1))
    run_for(world, minutes=5)
    assert (world.status(lease), world.event(lease, EventType.START).status) == ("ERROR", "ERROR")
    world.amend(lease, name="renamed")


@scene
def it_was_in_error_when_it_was_taken_over(world: World) -> None:
    lease = world.active(hosts(), end=5)
    # What was there before is no change of ours.
    world.execute(text("DROP TRIGGER note_leases"))
    world.execute(update(leases).where(leases.c.id == lease.id).values(status=LeaseStatus.ERROR))
    world.execute(text("UPDATE tasks SET due_at = (SELECT start_at FROM leases)"))
    run_manager(world)
    assert world.status(lease) == "ACTIVE"


# ------------------------------------------------------------ the warning, and what it begins


def imaged(world: World) -> Lease:
    """Return an active lease whose warning waits for the image of its server, which is never complete."""
    lease = world.active(hosts(before_end="snapshot"), floating_ips(), end=4, before_end=world.hour(2))
    world.boot(lease)
    take_to_upload(world.cloud, DAY.total_seconds())
    run_until(world, world.hour(2))
    assert world.event(lease, EventType.BEFORE_END).status == "IN_PROGRESS"
    return lease


@scene
def a_warning_fails_and_is_made_good(world: World) -> None:
    lease = world.active(hosts(before_end="snapshot"), end=4, before_end=world.hour(2))
    world.boot(lease)
    world.refuse("images.of_reservation")
    run_until(world, world.hour(2.5))
    assert world.event(lease, EventType.BEFORE_END).status == "ERROR"
    world.cloud.faults.clear()
    run_until(world, world.hour(3.5))
    assert world.event(lease, EventType.BEFORE_END).status == "DONE"
    world.amend(lease, end=6)
    assert world.event(lease, EventType.BEFORE_END).status == "UNDONE"


@scene
def a_warning_is_moved_while_it_is_under_way(world: World) -> None:
    world.amend(imaged(world), end=6)


@scene
def a_failed_warning_is_moved(world: World) -> None:
    lease = world.active(hosts(before_end="snapshot"), end=4, before_end=world.hour(2))
    world.boot(lease)
    world.refuse("images.of_reservation")
    run_until(world, world.hour(2.5))
    world.amend(lease, end=6)


@scene
def it_ends_without_its_images(world: World) -> None:
    imaged(world)
    run_until(world, world.hour(7))


@scene
def it_ends_without_its_images_after_a_failure(world: World) -> None:
    lease = imaged(world)
    world.refuse("networks.delete_floating_ip")
    run_until(world, world.hour(4.5))
    assert world.status(lease) == "ERROR"
    run_until(world, world.hour(6))
    world.cloud.faults.clear()
    run_until(world, world.hour(7))
    assert world.status(lease) == "TERMINATED"


@scene
def it_ends_without_having_shelved_its_servers(world: World) -> None:
    """After its warning, and without one, because no manager ran."""
    world.cloud.servers.take_to("shelve", DAY.total_seconds())
    for start in (0.0, 4.0):
        lease = world.active(hosts(before_end="shelve"), start=start, end=start + 2, before_end=world.hour(start + 1))
        run_until(world, world.hour(start))
        world.boot(lease)
        if start:
            world.clock.set(world.hour(start + 2))
        run_until(world, world.hour(start + 4))
        assert world.status(lease) == "TERMINATED"


@scene
def a_warning_is_moved_before_it_is_due(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=4)
    world.amend(lease, before_end=2)
    assert world.status(lease) == "PENDING"


@scene
def a_warning_of_a_failed_start_is_moved(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=5)
    run_until_refused_often(world)
    world.amend(lease, before_end=3)


# ------------------------------------------------------------ events of the owner


@scene
def events_of_its_owner_are_told_before_in_and_after_a_start(world: World) -> None:
    events = tuple((OWN, world.hour(hour)) for hour in (0.5, 1.001, 2))
    lease = world.lease(hosts(), start=1, end=4, events=events)
    run_until(world, world.hour(0.9))
    world.clock.set(world.hour(1))
    killed_in_a_step(world)
    run_until(world, world.hour(3))
    assert world.status(lease) == "ACTIVE"


@scene
def an_event_of_its_owner_is_told_after_a_failed_start(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), end=5, events=((OWN, world.hour(1)),))
    run_until(world, world.hour(2))
    assert world.status(lease) == "ERROR"


# ------------------------------------------------------------ parts of a lease


@scene
def a_reservation_is_dropped_before_the_start(world: World) -> None:
    drop(world, world.active(hosts(), floating_ips(), start=1, end=2))
    run_manager(world)


@scene
def a_reservation_is_dropped_when_the_start_is_due(world: World) -> None:
    drop(world, world.lease(hosts(), floating_ips(), end=2))
    run_manager(world)


@scene
def a_reservation_is_dropped_and_the_start_fails(world: World) -> None:
    """What was dropped cannot be removed before the start has failed."""
    lease = world.lease(hosts(), instances(), end=2)
    world.refuse("aggregates.add_host")
    world.refuse("flavors.delete")
    drop(world, lease)
    run_until_refused_often(world)
    world.cloud.faults.clear()
    world.refuse("aggregates.add_host")
    run_for(world, minutes=10)
    assert world.statuses(lease) == ["error", "deleted"]


@scene
def a_reservation_is_dropped_while_it_is_active(world: World) -> None:
    drop(world, world.active(hosts(), floating_ips(), end=2))
    run_manager(world)


def drop(world: World, lease: Lease) -> None:
    amend_lease(world.service, lease.id, LeaseChanges(drops=frozenset({lease.reservations[1].id})))


@scene
def a_host_is_swapped(world: World) -> None:
    world.swap(world.lease(hosts(), start=1, end=2), host="cmp-01")
    world.swap(world.active(hosts(), end=2), host="cmp-01")


# ------------------------------------------------------------ leases that wait, and offers


def waiting(world: World, **more: Any) -> Lease:
    """Return a lease that waits for a host while all are taken until hour 5."""
    world.active(ALL, end=5)
    lease = world.lease(hosts(), end=3, retry_pause=timedelta(minutes=5), **more)
    assert world.status(lease) == "IN_PROGRESS"
    return lease


@scene
def it_waits_and_is_granted(world: World) -> None:
    lease = waiting(world, type=LeaseType.WAITLIST, deadline=world.hour(8))
    world.amend(lease, end=4, before_end=3)
    run_until(world, world.hour(6))
    assert world.status(lease) == "ACTIVE"


@scene
def it_waits_in_vain(world: World) -> None:
    lease = waiting(world, type=LeaseType.WAITLIST, deadline=world.hour(4))
    run_until(world, world.hour(4))
    assert world.status(lease) == "TIMEDOUT"
    world.amend(lease, name="renamed")
    world.delete(lease)


@scene
def it_is_tried_in_vain(world: World) -> None:
    lease = waiting(world, type=LeaseType.RETRY, retries=2)
    run_until(world, world.hour(1))
    assert world.status(lease) == "ERROR"


@scene
def it_is_deleted_while_it_waits(world: World) -> None:
    world.delete(waiting(world, type=LeaseType.WAITLIST, deadline=world.hour(4)))


@scene
def offers_are_accepted_given_up_and_forgotten(world: World) -> None:
    def offered() -> Lease:
        draft = LeaseDraft("offer", world.hour(1), world.hour(2), reservations=(hosts(),), hold=timedelta(minutes=5))
        return make_offer(world.service, DEMO, draft)

    accept_offer(world.service, offered().id)
    give_up_offer(world.service, offered().id)
    offered()
    run_for(world, minutes=6)


# ------------------------------------------------------------ what others lend


@scene
def what_is_lent_is_taken_back_with_notice(world: World) -> None:
    lease = world.active(ALL, end=12)
    notice = notice_of(20 * 60)
    take_back(world.service, world.lend(lease, "cmp-01", notice=notice).id)
    run_for(world, hours=1)
    active = world.lend(lease, "cmp-01", notice=notice)
    run_for(world, minutes=1)
    take_back(world.service, active.id)


@scene
def what_an_owner_offers_is_taken_back_with_notice(world: World) -> None:
    world.give("demo", "cmp-01")
    world.refuse("aggregates.add_host")
    claim = world.claim(world.publish("cmp-01", notice=notice_of(20 * 60)))
    run_for(world, minutes=30)
    assert world.status(claim) == "ERROR"
    withdraw(world.service, claim.published_offer or "", "demo")
    world.cloud.faults.clear()
    run_for(world, hours=1)
    world.give("demo", "cmp-02")
    starting = world.claim(world.publish("cmp-02", notice=notice_of(20 * 60)))
    during_a_step(world, lambda: withdraw(world.service, starting.published_offer or "", "demo"))
    run_for(world, hours=1)
