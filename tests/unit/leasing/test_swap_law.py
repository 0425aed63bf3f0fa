"""The law of swaps (feature J6) on random histories: nothing is deleted, lost, held twice or hoarded."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.manager.monitor import check_once
from leasehold.model.errors import LeaseholdError
from tests.factory import ALT, DEMO, Clock, hosts, instances, live, open_service, run_for, run_manager
from tests.stateful.audit import audit, audit_cloud
from tests.stateful.holdings import misrecorded, note_holdings, tell_the_time
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
WHICH = st.integers(0, 7)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["swap", "swap", "swap", "boot", "boot", "clear"]), WHICH),
    st.tuples(st.sampled_from(["fail", "recover", "grow", "longer", "delete"]), WHICH),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 5, 20])),
)
LEASES = st.lists(st.tuples(st.integers(1, 2), st.sampled_from([0, 0, 0.5])), min_size=1, max_size=3)


class History:
    """Leases of hosts, one of them beside slots, and what the test knows of their servers and hosts."""

    def __init__(self, world: World, wishes: list[tuple[int, float]]) -> None:
        self.world = world
        self.servers: dict[str, str] = {}
        """The lease of each server that neither its owner nor the end of its lease has removed."""
        self.given_up: dict[str, set[str]] = {}
        """The hosts that each lease has swapped away."""
        self.leases: list[Lease] = []
        for number, (amount, start) in enumerate(wishes):
            parts = [hosts(amount)] if number else [hosts(amount), instances(1)]
            with suppress(LeaseholdError):
                caller = ALT if number == 1 else DEMO
                self.leases.append(world.lease(*parts, start=start, end=1 + number, caller=caller))
        run_manager(world)
        for which in range(2 * len(self.leases)):
            self.boot(which)

    def swap(self, which: int) -> None:
        lease = self.leases[which % len(self.leases)]
        before = self.world.holds(lease)
        if not before:
            return
        busy = {server.service_host for server in self.world.cloud.servers.all()}
        some = sorted(before.keys() & busy) if which % 4 else []
        name = (some or sorted(before))[which % len(some or before)]
        active = self.world.status(lease) == "ACTIVE"
        there = [each.id for each in self.world.cloud.servers.on_host(name)] if active else []
        with suppress(LeaseholdError):
            self.world.swap(lease, None, *there, host=name)
            after = self.world.holds(lease)
            assert (sum(after.values()), name in after) == (sum(before.values()), False)
            self.given_up.setdefault(lease.id, set()).add(name)
        run_manager(self.world)

    def boot(self, which: int) -> None:
        lease = self.world.get(self.leases[which % len(self.leases)])
        if lease.status == "ACTIVE":
            hint = [lease.reservations[0].id]
            server = self.world.cloud.servers.boot("server", lease.project_id, "m1.small", hint)
            self.servers[server.id] = lease.id

    def clear(self, which: int) -> None:
        """The owner deletes a server."""
        if self.servers:
            ident = sorted(self.servers)[which % len(self.servers)]
            self.world.cloud.servers.delete(ident)
            del self.servers[ident]

    def fail(self, which: int) -> None:
        self.world.cloud.hypervisors.fail(HOSTS[which % len(HOSTS)])
        check_once(self.world.service)

    def recover(self, which: int) -> None:
        self.world.cloud.hypervisors.recover(HOSTS[which % len(HOSTS)])
        check_once(self.world.service)

    def grow(self, which: int) -> None:
        lease = self.leases[which % len(self.leases)]
        with suppress(LeaseholdError):
            self.world.amend(lease, hosts(1, 1 + which % 4))
            # Its owner asked for more, and may get a host that it gave up.
            self.given_up[lease.id] = self.given_up.get(lease.id, set()) - self.world.holds(lease).keys()

    def longer(self, which: int) -> None:
        lease = self.leases[which % len(self.leases)]
        with suppress(LeaseholdError):
            self.world.amend(lease, end=2 + which / 4)

    def delete(self, which: int) -> None:
        if len(self.leases) > 1 and which < len(self.leases):
            gone = self.leases.pop(which)
            self.world.delete(gone)
            run_manager(self.world)
            self._forget(gone)

    def wait(self, minutes: int) -> None:
        run_for(self.world, minutes=minutes)

    def _forget(self, lease: Lease) -> None:
        self.servers = {server: owner for server, owner in self.servers.items() if owner != lease.id}

    def check(self) -> None:
        for lease in map(self.world.get, self.leases):
            if lease.status == "TERMINATED":
                self._forget(lease)
            part = lease.reservations[0]
            mine = {each.resource_number for each in live(lease, part)}
            swapped = {each.resource_number for each in part.allocations if each.given_up and each.released_at is None}
            assert mine.isdisjoint(swapped)
            assert len(swapped) <= 1
            assert self.given_up.get(lease.id, set()).isdisjoint(self.world.holds(lease))
        assert self.servers.keys() <= self.world.servers()
        assert misrecorded(self.world.engine, self.world.now()) == []
        audit(self.world)


@settings(max_examples=30)
@given(wishes=LEASES, steps=st.lists(STEPS, min_size=3, max_size=16))
def test_swaps_neither_delete_nor_lose_nor_hoard(
    enrolled: Path, wishes: list[tuple[int, float]], steps: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        clock = Clock()
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=clock)
        note_holdings(world.engine)
        tell_the_time(world.engine, clock.now)
        history = History(world, wishes)
        for step, which in steps:
            clock.advance(seconds=1)
            getattr(history, step)(which)
            history.check()
        run_for(world, minutes=5)
        history.check()
        assert findings(world) == []
        audit_cloud(world)
        world.engine.dispose()
