"""Delivery to a real receiver: in order, again until acknowledged, and what becomes of a receiver that refuses."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.db.event_log import nonce_at
from leasehold.features.alarm.model import AlarmDraft
from leasehold.features.alarm.use import AlarmWatch, make_alarm
from leasehold.features.subscription import delivery
from leasehold.features.subscription import use as subscriptions
from leasehold.features.subscription.delivery import claim_deliveries, claim_length, deliver
from leasehold.features.subscription.model import ChannelName, TooManySubscriptionsError
from leasehold.features.subscription.settings import DeliverySettings, EmailSettings, MailSecurity
from leasehold.features.subscription.store import candidates
from leasehold.features.subscription.webhook import WebhookSender
from leasehold.features.subscription.words import read_words
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.caller import Caller
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.event_log import BEGINNING, Cursor, read_cursor
from tests.factory import ALT, AT_ONCE, DEMO, Clock, Killed, hosts, open_service, run_for
from tests.mailbox import mail_server
from tests.receiver import Receiver, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.conf.settings import Settings
    from leasehold.features.subscription.delivery import DeliveryClaim
    from leasehold.features.subscription.model import DeadLetter, Subscription
    from tests.factory import World
    from tests.mailbox import Mailbox

pytestmark = pytest.mark.slow

ALICE = "mailto:alice@example.org"
DELIVERY = DeliverySettings(
    subscriptions=4, answer_seconds=5.0, http=True, allowed_networks=(ip_network("127.0.0.0/8"),), refused_tries=3
)


def claim(world: World) -> list[DeliveryClaim]:
    """Claim all that waits, as a manager does that has threads enough."""
    with world.service.db.reading() as connection:
        waiting = candidates(connection, world.now())
    return list(claim_deliveries(world.service, waiting, uuid4().hex)) if waiting else []


def run_deliverer(world: World) -> int:
    """Put events in order and deliver what can be delivered now; return how many turns that took."""
    sequence_events(world.service)
    turns = 0
    while claims := claim(world):
        for each in claims:
            deliver(world.service, each, lambda: False)
        turns += len(claims)
        assert turns < 100
    return turns


@dataclass
class Told:
    """A service with subscriptions, each with a receiver of its own."""

    world: World
    stack: ExitStack
    made: list[Subscription] = field(default_factory=list)

    def receiver(self, caller: Caller = DEMO, **filters: Any) -> Receiver:
        found = self.stack.enter_context(receiving())
        made = subscriptions.subscribe(self.world.service, caller, ChannelName.WEBHOOK, found.url, **filters)
        found.secret = made.secret
        self.made.append(made)
        return found

    def mailed(self, box: Mailbox, *event_types: str) -> EmailSettings:
        """Subscribe an address whose messages this mail server takes, and return the settings."""
        email = EmailSettings(
            host="127.0.0.1",
            port=box.port,
            security=MailSecurity.NONE,
            sender="leases@example.org",
            allowed_domains=("example.org",),
        )
        settings = AT_ONCE.having(replace(DELIVERY, email=email))
        self.world = replace(self.world, service=replace(self.world.service, settings=settings))
        self.made.append(
            subscriptions.subscribe(self.world.service, DEMO, ChannelName.EMAIL, ALICE, event_types=event_types)
        )
        return email

    def nonce(self, position: int) -> str:
        with self.world.service.db.reading() as connection:
            return nonce_at(connection, position) or ""

    def events(self, number: int) -> None:
        """Make this many events of a lease."""
        lease = self.world.lease(hosts(), start=1, end=2)
        for each in range(number - 1):
            self.world.amend(lease, name=f"name-{each}")

    def now(self, number: int = 0) -> Subscription:
        return subscriptions.get_subscription(self.world.service, self.made[number].id)

    def dead(self) -> list[DeadLetter]:
        return list(subscriptions.list_dead_letters(self.world.service, self.made[0].id, BEGINNING, 100))

    def replay(self, event: Cursor | None = None) -> Subscription:
        return subscriptions.replay(self.world.service, self.made[0].id, event)


@pytest.fixture
def told(enrolled: Path, tmp_path: Path) -> Iterator[Told]:
    shutil.copyfile(enrolled, tmp_path / "leasehold.db")
    settings: Settings = AT_ONCE.having(DELIVERY)
    world = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=Clock(), settings=settings)
    world = replace(world, service=replace(world.service, words=(read_words,)))
    sequence_events(world.service)
    with ExitStack() as stack:
        yield Told(world, stack)
    world.engine.dispose()


def test_what_happens_is_sent_once_in_order_to_those_who_want_it(told: Told) -> None:
    everything = told.receiver()
    created = told.receiver(event_types=["lease.create"])
    theirs = told.receiver(ALT)
    admins = told.receiver(all_projects=True)
    told.events(3)
    told.world.fail("cmp-01")
    assert run_deliverer(told.world) > 0
    assert everything.types() == ["lease.create", "lease.renamed", "lease.renamed", "lease.at_risk"]
    assert created.types() == ["lease.create"]
    assert theirs.tries == []
    assert [each for each in admins.types() if each.startswith("lease.")] == everything.types()
    assert "resource.health" in admins.types()
    first = everything.events[0]
    assert {**first, "data": None} == {
        "specversion": "1.0",
        "id": first["id"],
        "source": "/v1/events",
        "type": "lease.create",
        "subject": f"leases/{first['data']['lease_id']}",
        "time": "2031-05-01T09:00:00+00:00",
        "datacontenttype": "application/json",
        "sequence": f"{read_cursor(first['id']).position:018d}",
        "projectid": "demo",
        "data": None,
    }
    assert everything.timestamps == [int(told.world.now().timestamp())] * 4
    assert run_deliverer(told.world) == 0
    assert told.now().position == told.now(3).position


def test_a_user_may_be_told_of_own_leases_and_alarms_alone(told: Told) -> None:
    mine, everywhere = told.receiver(own=True), told.receiver(own=True, all_projects=True)
    service = told.world.service
    for caller in (DEMO, Caller("bob", "demo"), Caller("ALICE", "demo"), Caller("alice", "alt")):
        told.world.lease(start=1, end=2, caller=caller)
        make_alarm(service, caller, AlarmDraft(hosts(), 40, 3600))
    told.world.fail("cmp-01")
    AlarmWatch(service).check()
    assert run_deliverer(told.world) == 2
    found = [sorted((event["projectid"], event["type"]) for event in each.events) for each in (mine, everywhere)]
    of_demo = [("demo", "capacity.low"), ("demo", "lease.create")]
    assert found == [of_demo, [("alt", kind) for _, kind in of_demo] + of_demo]
    assert {event["data"]["user_id"] for each in (mine, everywhere) for event in each.events} == {"alice"}
    # Both have passed the events of others and of resources.
    assert told.now().position == told.now(1).position
    assert claim(told.world) == []


def test_alarms_are_told_to_the_projects_that_have_them(told: Told) -> None:
    everything, of_lease = told.receiver(), told.receiver(lease_id=told.world.lease(hosts(), start=1, end=2).id)
    low, theirs = told.receiver(event_types=["capacity.low"]), told.receiver(ALT)
    admins = told.receiver(all_projects=True)
    service = told.world.service
    made = make_alarm(service, DEMO, AlarmDraft(hosts(), 5, 7200))
    for _ in range(2):
        AlarmWatch(service).check()
    assert run_deliverer(told.world) > 0
    assert everything.types() == admins.types() == ["lease.create", "capacity.low"]
    assert low.types() == ["capacity.low"]
    assert (of_lease.types(), theirs.types()) == (["lease.create"], [])
    [event] = low.events
    assert (event["subject"], event["projectid"]) == (f"alarms/{made.id}", "demo")
    assert (event["data"]["available"], event["data"]["below"], event["data"]["state"]) == (4, 5, "low")


def test_an_event_is_tried_again_until_it_is_acknowledged_and_none_overtakes_it(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    statuses = iter([500, 503, 429, 302, 200, 200])
    receiver.answer = lambda _: next(statuses)
    pauses, found = [], told.now()
    for _ in range(4):
        run_deliverer(told.world)
        found = told.now()
        assert (found.status, found.position) == ("failing", told.made[0].position)
        assert found.due_at is not None
        pauses.append((found.due_at - told.world.now()).total_seconds())
        told.world.clock.set(found.due_at - timedelta(milliseconds=1))
        assert run_deliverer(told.world) == 0
        told.world.clock.set(found.due_at)
    assert pauses == [1, 2, 4, 8]
    assert found.last_error is not None
    assert "status 302" in found.last_error
    run_deliverer(told.world)
    assert receiver.types() == ["lease.create", "lease.renamed"]
    assert len({ident for ident, _ in receiver.tries[:5]}) == 1
    assert (told.now().status, told.now().failures, told.now().last_error) == ("active", 0, None)


def test_an_event_that_is_refused_becomes_a_dead_letter_and_can_be_replayed(told: Told) -> None:
    receiver = told.receiver()
    told.events(3)
    receiver.answer = lambda event: 400 if event["type"] == "lease.create" else 200
    for _ in range(4):
        run_deliverer(told.world)
        told.world.clock.advance(minutes=1)
    assert [kind for _, kind in receiver.tries].count("lease.create") == DELIVERY.refused_tries
    assert receiver.types() == ["lease.renamed", "lease.renamed"]
    (dead,) = told.dead()
    assert (dead.event_id, dead.event_type) == (receiver.tries[0][0], "lease.create")
    assert dead.error == "The receiver answered with status 400."
    receiver.answer = lambda _: 200
    told.replay(read_cursor(dead.event_id))
    assert told.dead() == []
    run_deliverer(told.world)
    assert receiver.types()[2:] == ["lease.create", "lease.renamed", "lease.renamed"]
    assert len({event["id"] for event in receiver.events}) == 3


def test_an_e_mail_is_sent_as_reliably_and_not_too_often(told: Told) -> None:
    """With the first two tries refused for now, a message that is refused for good, and a pause between messages."""
    with mail_server() as box:
        email = told.mailed(box)
        assert told.made[0].secret == ""
        told.events(4)
        told.world.clock.advance(minutes=1)
        replies = iter(["451 later", "451 later", "554 no", "554 no", "554 no"])
        while not told.dead():
            box.replies["MESSAGE"] = next(replies)
            run_deliverer(told.world)
            assert box.taken == []
            told.world.clock.advance(minutes=1)
        assert [each.event_type for each in told.dead()] == ["lease.create"]
        assert next(replies, None) is None
        del box.replies["MESSAGE"]
        for number in range(1, 4):
            assert run_deliverer(told.world) == 1
            assert len(box.taken) == number
            due = told.now().due_at
            assert due == told.world.now() + email.apart
            told.world.clock.set(due)
        run_deliverer(told.world)
        assert box.subjects() == [f"Lease {name} has a new name" for name in ("name-0", "name-1", "name-2")]
        assert told.now().status == "active"


BY_EMAIL = hosts(before_end="email")
WARNING = "lease.event.before_end_lease"


def test_before_end_email_is_an_e_mail_of_the_warning(told: Told) -> None:
    """A word of Blazar's forks, which is granted where the owner gets that e-mail, also where a lease is amended."""
    with mail_server() as box:
        told.mailed(box, WARNING)
        lease = told.world.lease(BY_EMAIL, start=1, end=5)
        assert lease.reservations[0].request["before_end"] == ""
        snapshot = told.world.lease(hosts(before_end="snapshot"), start=1, end=5)
        told.world.amend(snapshot, {"before_end": "email"})
        run_for(told.world, hours=4.5)
        while run_deliverer(told.world):
            told.world.clock.advance(minutes=1)
        assert box.subjects() == ["Lease lease comes to its end"] * 2
        # The e-mail of this end has been sent: none would come for who asks now.
        with pytest.raises(InvalidInputError, match="still to come"):
            told.world.amend(snapshot, {"before_end": "email"})
        told.world.amend(snapshot, end=7)
        told.world.amend(snapshot, {"before_end": "email"})


def refused(told: Told, caller: Caller = DEMO) -> str:
    """Return what the refusal of such a lease says."""
    with pytest.raises(InvalidInputError) as error:
        told.world.lease(BY_EMAIL, caller=caller)
    assert error.value.field == "reservations[0].before_end"
    return str(error.value)


def test_before_end_email_is_refused_where_no_e_mail_reaches_the_owner(told: Told) -> None:
    told.receiver()
    assert "webhook" in refused(told)
    with mail_server() as box:
        email = told.mailed(box)
        told.world.lease(BY_EMAIL)
        assert "POST /v1/subscriptions" in refused(told, ALT)
        assert "POST /v1/subscriptions" in refused(told, replace(DEMO, user_id="bob"))
        service, (mine,) = told.world.service, told.made[1:]
        settings = service.settings
        for changed in (
            replace(settings, leases=replace(settings.leases, before_end=timedelta(0))),
            settings.having(replace(DELIVERY, email=replace(email, allowed_domains=("example.net",)))),
        ):
            told.world = replace(told.world, service=replace(service, settings=changed))
            refused(told)
        told.world = replace(told.world, service=service)
        subscriptions.unsubscribe(service, mine.id)
        # None of these is told of the warning of another lease.
        lease = told.world.lease(hosts(), start=1, end=5)
        for filters in ({"event_types": ["lease.create"]}, {"lease_id": lease.id}):
            subscriptions.subscribe(service, DEMO, ChannelName.EMAIL, ALICE, **filters)
            refused(told)
        told.world.amend(lease, {"before_end": "email"})


def test_no_replay_and_no_new_subscription_sends_e_mails_more_often(told: Told) -> None:
    """Otherwise a member could flood the mailbox of somebody else."""
    with mail_server() as box:
        apart = told.mailed(box).apart
        told.events(1)
        for number in range(4):
            run_deliverer(told.world)
            assert len(box.taken) == number
            told.world.clock.advance(seconds=apart.total_seconds() - 1)
            run_deliverer(told.world)
            assert len(box.taken) == number
            told.world.clock.advance(seconds=1)
            run_deliverer(told.world)
            assert len(box.taken) == number + 1
            event = Cursor(told.now().position, told.nonce(told.now().position))
            if number % 2:
                subscriptions.unsubscribe(told.world.service, told.made.pop().id)
                told.mailed(box)
                told.events(1)
            else:
                told.replay(event)


def test_a_replay_while_an_e_mail_is_sent_does_not_send_it_twice_at_once(told: Told) -> None:
    with mail_server() as box:
        apart = told.mailed(box).apart
        told.events(1)
        told.world.clock.advance(seconds=apart.total_seconds())
        sequence_events(told.world.service)
        (late,) = claim(told.world)
        told.replay()
        deliver(told.world.service, late, lambda: False)
        assert run_deliverer(told.world) == 0
        assert len(box.taken) == 1


def test_only_what_the_receiver_refuses_counts_as_refused(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    statuses = iter([500, 400, 503, 400, 200, 200])
    receiver.answer = lambda _: next(statuses)
    for _ in range(5):
        run_deliverer(told.world)
        told.world.clock.advance(minutes=1)
    assert told.dead() == []
    assert receiver.types() == ["lease.create", "lease.renamed"]


def test_who_is_new_or_failed_or_takes_long_counts_as_slow_for_a_while(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a receiver that hangs now and then shares the threads of those that always do."""

    def is_slow() -> bool:
        told.world.amend(lease, name=uuid4().hex)
        sequence_events(told.world.service)
        with told.world.service.db.reading() as connection:
            (mine,) = candidates(connection, told.world.now())
        run_deliverer(told.world)
        return mine.slow

    receiver = told.receiver()
    lease = told.world.lease(hosts(), start=1, end=2)
    assert is_slow()
    told.world.clock.advance(minutes=11)
    assert [is_slow(), is_slow()] == [False, False]
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.0)
    assert [is_slow(), is_slow()] == [False, True]
    monkeypatch.undo()
    told.replay()
    assert is_slow()
    told.world.clock.advance(minutes=11)
    assert not is_slow()
    receiver.answer = lambda _: 500
    is_slow()
    told.world.clock.advance(minutes=9)
    assert is_slow()


def test_a_receiver_that_fails_for_long_is_suspended_and_misses_nothing(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    receiver.answer = lambda _: 500
    while told.now().status != "suspended":
        run_deliverer(told.world)
        told.world.clock.advance(minutes=30)
    assert told.now().failing_since == told.world.hour(0)
    assert told.world.now() > told.world.hour(0) + DELIVERY.give_up
    tries = len(receiver.tries)
    told.world.clock.advance(hours=1)
    run_deliverer(told.world)
    assert len(receiver.tries) == tries
    receiver.answer = lambda _: 200
    assert told.replay().status == "active"
    run_deliverer(told.world)
    assert receiver.types() == ["lease.create", "lease.renamed"]


def test_who_dies_after_sending_leaves_the_event_to_be_sent_again_with_its_id(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = told.receiver()
    told.events(3)
    sequence_events(told.world.service)
    send = WebhookSender.send

    def die(self: WebhookSender, *arguments: Any) -> None:
        send(self, *arguments)
        if len(receiver.events) == 2:
            raise Killed

    monkeypatch.setattr(WebhookSender, "send", die)
    (mine,) = claim(told.world)
    with pytest.raises(Killed):
        deliver(told.world.service, mine, lambda: False)
    assert claim(told.world) == []
    monkeypatch.undo()
    told.world.clock.advance(seconds=claim_length(told.world.service).total_seconds() + 1)
    run_deliverer(told.world)
    ids = [event["id"] for event in receiver.events]
    assert (ids[:2], len(ids), len(set(ids))) == (ids[2:4], 5, 3)


def test_who_lost_the_claim_records_nothing_and_stops(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    sequence_events(told.world.service)
    (late,) = claim(told.world)
    told.world.clock.advance(seconds=claim_length(told.world.service).total_seconds() + 1)
    (current,) = claim(told.world)
    receiver.answer = lambda _: 500
    deliver(told.world.service, late, lambda: False)
    assert told.now().failing_since is None
    receiver.answer = lambda _: 200
    deliver(told.world.service, current, lambda: False)
    assert receiver.types() == ["lease.create", "lease.renamed"]
    assert told.now().status == "active"


def test_a_manager_that_stops_begins_no_further_event(told: Told) -> None:
    receiver = told.receiver()
    told.events(3)
    sequence_events(told.world.service)
    (mine,) = claim(told.world)
    deliver(told.world.service, mine, lambda: True)
    assert len(receiver.events) == 1
    run_deliverer(told.world)
    assert len({event["id"] for event in receiver.events}) == len(receiver.events) == 3


def test_a_subscription_that_is_deleted_while_it_is_served_stays_deleted(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    sequence_events(told.world.service)
    (mine,) = claim(told.world)
    receiver.answer = lambda _: 400
    subscriptions.unsubscribe(told.world.service, told.made[0].id)
    deliver(told.world.service, mine, lambda: False)
    assert told.dead() == []
    with pytest.raises(NotFoundError):
        told.now()


def test_a_project_has_a_limited_number_of_subscriptions(told: Told) -> None:
    for _ in range(DELIVERY.subscriptions):
        told.receiver()
    with pytest.raises(TooManySubscriptionsError):
        told.receiver()
    assert told.receiver(ALT).url
    subscriptions.unsubscribe(told.world.service, told.made[0].id)
    assert told.receiver().url


def test_a_replay_begins_with_an_event_that_was_delivered(told: Told) -> None:
    receiver = told.receiver()
    told.events(2)
    sequence_events(told.world.service)
    begin = told.made[0].position + 1
    event = Cursor(begin, told.nonce(begin))
    with pytest.raises(InvalidInputError, match="not been delivered"):
        told.replay(event)
    for unknown in (Cursor(10**6, event.nonce), Cursor(begin, "0" * 16), Cursor(0, "0" * 16)):
        with pytest.raises(NotFoundError):
            told.replay(unknown)
    run_deliverer(told.world)
    told.replay(event)
    run_deliverer(told.world)
    assert receiver.types() == ["lease.create", "lease.renamed"] * 2
