"""Sending to a bus that refuses, that loses its answers, or whose bridge dies: nothing is lost or out of order."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from leasehold.bridge.running import sending
from leasehold.bridge.sender import BusChannel
from leasehold.bridge.transport import Bus
from leasehold.db.tables import outbox
from leasehold.features.alarm.model import AlarmDraft
from leasehold.features.alarm.use import AlarmWatch, make_alarm
from leasehold.features.subscription import use as subscriptions
from leasehold.features.subscription.delivery import claim_deliveries, claim_length, deliver
from leasehold.features.subscription.model import ChannelName
from leasehold.features.subscription.store import candidates
from leasehold.features.subscription.use import BUS_ID, follow_bus
from leasehold.leasing.reading.event_log import read_events, sequence_events
from leasehold.model.errors import NotFoundError
from leasehold.model.event_log import BUS_EVENTS, EventFilter
from tests.factory import DEMO, Clock, Killed, hosts, open_service, run_for
from tests.processes import wait_for
from tests.unit.bridge.memory import memory_bus, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.factory import World

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Broker(Bus):
    """A bus that keeps what it has accepted; `weather` runs before, with False, and after each message."""

    weather: Callable[[bool], None] = lambda _: None
    accepted: list[dict[str, Any]] = field(default_factory=list)

    def send(self, topic: str, context: Mapping[str, Any], message: Mapping[str, Any], version: float) -> None:
        assert (topic, version) == ("notifications.info", 2.0)
        self.weather(False)
        self.accepted.append({**message})
        self.weather(True)


def broker(weather: Callable[[bool], None] = lambda _: None) -> Broker:
    return Broker(None, ("notifications",), (2.0,), weather)


@pytest.fixture
def world(enrolled: Path, tmp_path: Path) -> Iterator[World]:
    shutil.copyfile(enrolled, tmp_path / "leasehold.db")
    found = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=Clock())
    sequence_events(found.service)
    follow_bus(found.service)
    yield found
    found.engine.dispose()


def take_turns(world: World, bus: Bus) -> bool:
    """Deliver what can be delivered now, as a bridge does; say whether there was anything."""
    service = sending(world.service, bus)._service
    with service.db.reading() as connection:
        waiting = candidates(connection, world.now(), (ChannelName.BUS,))
    claims = claim_deliveries(service, waiting, uuid4().hex) if waiting else []
    for claim in claims:
        deliver(service, claim, lambda: False, {ChannelName.BUS: BusChannel(bus, service.types, "us")})
    return bool(claims)


def wanted(world: World) -> list[str]:
    """Return the ids of the events that the bus has to be told, in the order of the log."""
    page = read_events(world.service, EventFilter(None, types=BUS_EVENTS), None, 1000)
    return [str(event.cursor) for event in page.events]


def first_arrivals(bus: Broker) -> list[str]:
    """Return the ids in the order in which each arrived first; one that came again has to be the same."""
    found: dict[str, dict[str, Any]] = {}
    for message in bus.accepted:
        assert found.setdefault(message["message_id"], message) == message
    return list(found)


def test_alarms_are_not_told_to_the_bus(world: World) -> None:
    make_alarm(world.service, DEMO, AlarmDraft(hosts(), 9, 60))
    assert AlarmWatch(world.service).check() == 1
    world.lease(hosts(), start=0.5, end=3)
    sequence_events(world.service)
    bus = broker()
    while take_turns(world, bus):
        pass
    assert [each["event_type"] for each in bus.accepted] == ["lease.create"]


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_or_out_of_order_whatever_the_bus_does(world: World, seed: int) -> None:
    """A bridge finds the bus away, gets no answer for what was accepted, or dies before or after the bus accepts."""
    chance = random.Random(seed)  # noqa: S311 - the same weather in every run.

    def weather(_accepted: bool) -> None:  # noqa: FBT001 - called by position only.
        kind = chance.random()
        if kind < 0.3:
            raise Killed if kind < 0.1 else ConnectionResetError

    bus = broker(weather)
    leases = [world.lease(hosts(), start=0.5, end=3) for _ in range(3)]
    for step in range(60):
        if step < 20:
            world.amend(chance.choice(leases), end=5 + step)
        sequence_events(world.service)
        try:
            take_turns(world, bus)
        except Killed:
            world.clock.advance(seconds=claim_length(world.service).total_seconds() + 1)
        run_for(world, seconds=chance.choice([1, 20]))
    sequence_events(world.service)
    world.clock.advance(minutes=1)
    fair = replace(bus, weather=lambda _: None)
    while take_turns(world, fair):
        pass
    assert first_arrivals(fair) == wanted(world)
    assert len(wanted(world)) > 20


def test_what_the_bus_accepted_without_saying_so_comes_again_with_the_same_id(world: World) -> None:
    """After a lost answer, and after a death before the progress was recorded."""
    answers = iter([ConnectionResetError, None, Killed, None, None])

    def weather(accepted: bool) -> None:  # noqa: FBT001 - called by position only.
        answer = next(answers) if accepted else None
        if answer is not None:
            raise answer

    bus = broker(weather)
    lease = world.lease(hosts(), start=1, end=2)
    world.amend(lease, end=3)
    sequence_events(world.service)
    take_turns(world, bus)
    world.clock.advance(minutes=1)
    with pytest.raises(Killed):
        take_turns(world, bus)
    assert not take_turns(world, bus)
    world.clock.advance(minutes=1)
    take_turns(world, bus)
    create, update_ = wanted(world)
    assert [message["message_id"] for message in bus.accepted] == [create, create, update_, create, update_]


def test_a_bus_that_is_away_for_days_is_told_everything_in_the_end(world: World) -> None:
    """Unlike a webhook it is never suspended, and the pause between two tries has a bound."""

    def away(_accepted: bool) -> None:  # noqa: FBT001 - called by position only.
        raise ConnectionRefusedError

    world.lease(hosts(), start=200, end=201)
    sequence_events(world.service)
    for _ in range(60):
        take_turns(world, broker(away))
        world.clock.advance(hours=1)
    bus = broker()
    take_turns(world, bus)
    assert [message["event_type"] for message in bus.accepted] == ["lease.create"]
    take_turns(world, broker(away))
    world.lease(hosts(), start=202, end=203)
    sequence_events(world.service)
    assert take_turns(world, broker(away))
    world.clock.advance(seconds=world.service.settings.bridge.retry_most_seconds)
    assert take_turns(world, bus)
    assert len(bus.accepted) == 2


def test_an_event_that_cannot_be_shown_does_not_stop_the_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    bus = broker()
    lease = world.lease(hosts(), start=1, end=2)
    world.execute(update(outbox).values(payload={}))
    world.amend(lease, end=3)
    for _ in range(8):
        sequence_events(world.service)
        take_turns(world, bus)
        world.clock.advance(minutes=1)
    assert [message["event_type"] for message in bus.accepted] == ["lease.update"]
    assert "cannot be shown as a notification" in caplog.text


def test_nobody_sees_or_changes_the_subscription_of_the_bus(world: World) -> None:
    assert follow_bus(world.service) == follow_bus(world.service)
    assert subscriptions.list_subscriptions(world.service, None) == []
    assert subscriptions.list_subscriptions(world.service, "") == []
    for refused in (
        lambda: subscriptions.get_subscription(world.service, BUS_ID),
        lambda: subscriptions.unsubscribe(world.service, BUS_ID),
        lambda: subscriptions.replay(world.service, BUS_ID, None),
    ):
        with pytest.raises(NotFoundError):
            refused()
    world.lease(hosts(), start=1, end=2)
    sequence_events(world.service)
    with world.service.db.reading() as connection:
        assert candidates(connection, world.now()) == []
        assert [each.id for each in candidates(connection, world.now(), (ChannelName.BUS,))] == [BUS_ID]


def test_two_bridges_send_each_event_once_and_the_next_one_goes_on_after_it(world: World, tmp_path: Path) -> None:
    bus = memory_bus(tmp_path, topics="of-two")
    with reading(bus, "of-two") as reader:
        for _ in range(2):
            bridges = [sending(world.service, bus) for _ in range(2)]
            for bridge in bridges:
                bridge.start()
            lease = world.lease(hosts(), start=1, end=2)
            world.amend(lease, end=3)
            sequence_events(world.service)
            assert [each["event_type"] for each in reader.take(2)] == ["lease.create", "lease.update"]
            wait_for(lambda: not waits(world))
            for bridge in bridges:
                bridge.stop(20)
            world.delete(lease)
            sequence_events(world.service)
            assert waits(world)
            bridges[0] = sending(world.service, bus)
            bridges[0].start()
            assert [each["event_type"] for each in reader.take(1)] == ["lease.delete"]
            bridges[0].stop(20)
        assert reader.arrived.empty()


def waits(world: World) -> bool:
    with world.service.db.reading() as connection:
        return bool(candidates(connection, world.now(), (ChannelName.BUS,)))
