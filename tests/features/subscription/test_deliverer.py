"""The deliverer with its threads: a receiver that hangs delays no other, and what is stopped is left to others."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import ManagerSettings, Settings
from leasehold.features.subscription import use as subscriptions
from leasehold.features.subscription.job import Deliverer
from leasehold.features.subscription.model import ChannelName
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.caller import Caller
from tests.factory import Clock, hosts, open_service
from tests.processes import wait_for
from tests.receiver import receiving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

DELIVERY = DeliverySettings(threads=4, answer_seconds=20.0, http=True, allowed_networks=(ip_network("127.0.0.0/8"),))


def test_receivers_that_hang_delay_no_other_project(enrolled: Path, tmp_path: Path) -> None:
    """Three subscriptions of a project hang, of which one thread at most may wait; that of another one is served."""
    shutil.copyfile(enrolled, tmp_path / "leasehold.db")
    settings = Settings(manager=ManagerSettings(event_seconds=0.05)).having(DELIVERY)
    world = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=Clock(), settings=settings)
    service = world.service
    with ExitStack() as stack:
        receivers = [stack.enter_context(receiving()) for _ in range(4)]
        for number, receiver in enumerate(receivers):
            caller = Caller("alice", "demo" if number < 3 else "ops")
            made = subscriptions.subscribe(service, caller, ChannelName.WEBHOOK, receiver.url, all_projects=number == 3)
            receiver.secret = made.secret
            if number < 3:
                receiver.answer = receiver.hang
        world.lease(hosts(), start=1, end=2)
        sequence_events(service)
        deliverer = Deliverer(service)
        deliverer.start()
        wait_for(lambda: "lease.create" in receivers[3].types())
        assert sum(len(each.tries) for each in receivers[:3]) == 1
        world.lease(hosts(), start=3, end=4)
        sequence_events(service)
        wait_for(lambda: receivers[3].types().count("lease.create") == 2)
        deliverer.begin_to_stop()
        for receiver in receivers[:3]:
            receiver.resumed.set()
        deliverer.stop(20)
        # What hung has failed, and is recorded as such; nothing stays claimed.
        statuses = [each.status.value for each in subscriptions.list_subscriptions(service, "demo")]
        assert sorted(statuses) == ["active", "active", "failing"]
    world.engine.dispose()
