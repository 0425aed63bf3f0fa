"""The law of sub-leases and their offers (feature I4) on random histories: one holder for a host, and nothing lost."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.features.lending.publish import get_published, withdraw
from leasehold.manager.monitor import check_once
from leasehold.model.caller import Caller
from leasehold.model.errors import LeaseholdError
from tests.factory import DEMO, Clock, hosts, live, open_service, run_for, run_manager, run_until
from tests.stateful.audit import audit, audit_cloud
from tests.stateful.holdings import misrecorded, note_holdings, tell_the_time
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
PROJECTS = ("alt", "third")
WHICH = st.integers(0, 7)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["offer", "claim", "claim", "withdraw"]), WHICH),
    st.tuples(st.sampled_from(["lend", "lend", "lend", "boot", "boot", "clear", "longer", "delete"]), WHICH),
    st.tuples(st.sampled_from(["fail", "recover", "swap", "take", "strand", "deletes_nothing", "works"]), WHICH),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 5, 20, 40])),
)


class History:
    """Two leases that lend, the leases that others ask for beside them, and what the test knows of their servers."""

    def __init__(self, world: World, sizes: list[int]) -> None:
        self.world = world
        self.servers: dict[str, str] = {}
        """The lease of each server that neither its owner nor the end of its lease has removed."""
        self.lenders: list[Lease] = []
        self.children: list[Lease] = []
        self.others: list[Lease] = []
        self.offers: list[PublishedOffer] = []
        for number, size in enumerate(sizes):
            with suppress(LeaseholdError):
                self.lenders.append(world.lease(hosts(size), end=2 + number))
        run_manager(world)

    @property
    def every(self) -> list[Lease]:
        return [*self.lenders, *self.children, *self.others]

    def lend(self, which: int) -> None:
        """Lend one or two hosts; now and then a server of the lender boots at the same time."""
        if self.lenders:
            lease, end = self.lenders[which % len(self.lenders)], (None, 1, 1.5, 0.75)[which % 4]
            with suppress(LeaseholdError):
                made = self.world.lend(lease, amount=1 + which // 6, end=end, to=PROJECTS[which % 2])
                self.children.append(made)
                if which % 3 == 0:
                    self._boot(self.world.get(lease))
            if which % 2:
                run_manager(self.world)

    def offer(self, which: int) -> None:
        if self.lenders:
            lease, end = self.lenders[which % len(self.lenders)], (None, 1, 1.5, 0.75)[which % 4]
            with suppress(LeaseholdError):
                self.offers.append(self.world.offer_part(lease, 1 + which // 4, end))

    def claim(self, which: int) -> None:
        """Claim one or two hosts; more than is left is not granted."""
        if not self.offers:
            return
        offer, wanted = self.offers[which % len(self.offers)], 1 + which // 6
        part = get_published(self.world.service, offer.id, None).part
        assert part is not None
        with suppress(LeaseholdError):
            caller = Caller("x", PROJECTS[which % 2])
            self.children.append(self.world.claim(offer, end=(None, 0.5, 1)[which % 3], amount=wanted, caller=caller))
            assert wanted <= part.left

    def withdraw(self, which: int) -> None:
        """Delete an offer, with all that was claimed of it."""
        if self.offers:
            gone = self.offers.pop(which % len(self.offers))
            withdraw(self.world.service, gone.id, None)
            self._drop({each.id for each in self.children if each.published_offer == gone.id})

    def boot(self, which: int) -> None:
        if self.every:
            self._boot(self.world.get(self.every[which % len(self.every)]))

    def _boot(self, lease: Lease) -> None:
        if lease.status == "ACTIVE":
            hint = [lease.reservations[0].id]
            server = self.world.cloud.servers.boot("server", lease.project_id, "m1.small", hint)
            if server.service_host is not None:
                self.servers[server.id] = lease.id

    def clear(self, which: int) -> None:
        """The owner deletes a server."""
        if self.servers:
            ident = sorted(self.servers)[which % len(self.servers)]
            with suppress(Exception):
                self.world.cloud.servers.delete(ident)
                del self.servers[ident]

    def strand(self, which: int) -> None:
        """Servers are not deleted for a while."""
        del which
        self.world.break_down("servers.delete")

    deletes_nothing = strand

    def works(self, which: int) -> None:
        del which
        self.world.cloud.faults.clear()

    def longer(self, which: int) -> None:
        """Somebody moves an end, to an earlier or a later time."""
        if self.every:
            with suppress(LeaseholdError):
                self.world.amend(self.every[which % len(self.every)], end=1 + which / 2)

    def delete(self, which: int) -> None:
        """Somebody deletes a lease: a lender with all that it has lent, or another one."""
        if self.every:
            gone = self.every[which % len(self.every)]
            self.world.delete(gone)
            self._drop({gone.id, *(each.id for each in self.children if each.lent and each.lent.lease_id == gone.id)})

    def _drop(self, gone: set[str]) -> None:
        for leases in (self.lenders, self.children, self.others):
            leases[:] = [each for each in leases if each.id not in gone]
        self._forget(gone)

    def check_offers(self) -> None:
        """Of each offer no more is lent than was offered."""
        for each in self.offers:
            part = get_published(self.world.service, each.id, None).part
            assert part is not None
            assert part.lent <= part.amount

    def swap(self, which: int) -> None:
        if self.lenders:
            lease = self.lenders[which % len(self.lenders)]
            for name in sorted(self.world.holds(lease))[:1]:
                there = [each.id for each in self.world.cloud.servers.on_host(name)]
                with suppress(LeaseholdError):
                    self.world.swap(lease, None, *there, host=name)

    def take(self, which: int) -> None:
        """Somebody else asks for a host, now or later."""
        start = (self.world.now() - self.world.hour(0)).total_seconds() / 3600 + (0, 0, 0.3, 1)[which % 4]
        with suppress(LeaseholdError):
            caller = (DEMO, Caller("x", "fourth"))[which % 2]
            self.others.append(self.world.lease(hosts(1 + which % 2), start=start, end=start + 1, caller=caller))

    def fail(self, which: int) -> None:
        self.world.cloud.hypervisors.fail(HOSTS[which % len(HOSTS)])
        check_once(self.world.service)

    def recover(self, which: int) -> None:
        self.world.cloud.hypervisors.recover(HOSTS[which % len(HOSTS)])
        check_once(self.world.service)

    def wait(self, minutes: int) -> None:
        run_for(self.world, minutes=minutes)

    def _forget(self, gone: set[str]) -> None:
        self.servers = {server: owner for server, owner in self.servers.items() if owner not in gone}

    def check(self) -> None:
        holders: dict[int, str] = {}
        for lease in map(self.world.get, self.every):
            if lease.status in ("TERMINATED", "TERMINATING") or lease.window.end <= self.world.now():
                self._forget({lease.id})
            if lease.status not in ("ACTIVE", "STARTING", "PENDING"):
                continue
            for held in live(lease, lease.reservations[0]):
                if held.window.start <= self.world.now() < held.window.end:
                    assert holders.setdefault(held.resource_number, lease.id) == lease.id
        # No server is deleted that is not due.
        assert self.servers.keys() <= self.world.servers()
        assert misrecorded(self.world.engine, self.world.now()) == []
        audit(self.world)
        self.check_offers()


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=2), steps=st.lists(STEPS, min_size=4, max_size=20))
def test_each_host_has_one_holder_and_nothing_is_lost(
    enrolled: Path, sizes: list[int], steps: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        clock = Clock()
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=clock)
        note_holdings(world.engine)
        tell_the_time(world.engine, clock.now)
        history = History(world, sizes)
        for step, which in steps:
            clock.advance(seconds=1)
            getattr(history, step)(which)
            history.check()
        world.cloud.faults.clear()
        for name in HOSTS:
            world.cloud.hypervisors.recover(name)
        check_once(world.service)
        run_for(world, minutes=10)
        history.check()
        run_until(world, world.hour(24))
        history.check()
        # A boot that found no host has left a server on none.
        assert not [each for each in world.cloud.servers.all() if each.service_host is not None]
        assert world.members("freepool") == set(HOSTS)
        assert findings(world) == []
        audit_cloud(world)
        world.engine.dispose()
