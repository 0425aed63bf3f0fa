"""Forty hosts for one lease, on emulated machines behind a relay that loses requests, delays them and lies."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

import pytest
import requests

from leasehold.cloud.sandbox.seed import HostSpec, add_hosts
from leasehold.features.power.machines import set_machine
from leasehold.features.power.options import MachineClass, PowerSettings
from leasehold.features.power.report import report
from tests.factory import AT_ONCE, World, hosts, make_service
from tests.features.power.emulator import PASSWORD, USER, emulator
from tests.features.power.night import USUAL, Night
from tests.relay import CUT, Relay, listening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

pytestmark = pytest.mark.slow

NEEDED, SPARES, AT_ONCE_MOST = 40, 2, 10
SYSTEMS = {f"node-{number:02}": f"6f7d1b1c-0000-4000-8000-0000000000{number:02}" for number in range(NEEDED + SPARES)}
CLASS = MachineClass("bmc", driver="redfish", username=USER, password=PASSWORD, timeout=timedelta(seconds=10))
BOOTS = 30
PACE = 0.7
"""Seconds that a round takes at least while a machine is being switched.

The emulator takes up to 11 for that, which are at most three minutes of the service's clock.
"""


@dataclass
class Wire:
    """What goes over the relay: whether it is bad, how many requests at once, and which system gets no orders."""

    url: str
    bad: bool = False
    dead: str = ""
    most: int = 0
    now: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    guard: Lock = field(default_factory=Lock)

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self.guard:
            self.now += 1
            self.most = max(self.most, self.now)
        yield
        with self.guard:
            self.now -= 1

    def trouble(self, command: str, path: str) -> tuple[int, bytes] | None:
        """Return what becomes of a request by its path and its place among those, so that each run has the same."""
        with self.guard:
            self.seen[f"{command} {path}"] += 1
            dice = Random(f"{command} {path} {self.seen[f'{command} {path}']}").random()  # noqa: S311 - no secret.
        done = 204, b""
        if not self.bad:
            return None
        if self.dead and self.dead in path:
            return done if command == "POST" else None
        if command == "POST" and dice < 0.05:
            return done
        if dice < 0.07:
            return CUT if dice < 0.06 else (503, b"{}")
        if dice < 0.2:
            time.sleep(0.3)
        return None


@contextmanager
def wire(url: str) -> Iterator[tuple[Wire, str]]:
    made = Wire(url)

    class Bad(Relay):
        def target(self) -> str:
            return f"{made.url}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            return made.trouble(self.command, self.path)

        def _counted(self) -> None:
            with made.counted():
                self._relay()

        do_GET = do_POST = do_PATCH = _counted  # noqa: N815 - the base class looks for these.

    with listening(Bad) as port:
        yield made, f"http://127.0.0.1:{port}"


@dataclass
class Hall:
    """The hosts of the sandbox, which are up when the emulator's machines under them are on."""

    night: Night
    wire: Wire
    on: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(SYSTEMS, True))

    def run(self, until: datetime, done: Callable[[], bool] = lambda: False) -> None:
        """Do rounds up to a moment, or until it is done."""
        world = self.night.world
        while world.now() < until and not done():
            began = time.monotonic()
            world.clock.set(min(until, world.now() + USUAL.every))
            if self._follow():
                time.sleep(max(0.0, PACE - (time.monotonic() - began)))
            self.night.step()

    def _follow(self) -> bool:
        """Let hosts follow their machines, and say whether the emulator is switching any."""
        machines = self.night.world.cloud.machines
        busy = [name for name, stage in self.night.stages().items() if stage in ("stopping", "waking")]
        for name in busy:
            answer = requests.get(_address(self.wire.url, name), auth=(USER, PASSWORD), timeout=60).json()
            is_on = answer["PowerState"] == "On"
            if is_on != self.on[name]:
                (machines.switch_on if is_on else machines.switch_off)(name)
                self.on[name] = is_on
        return any(SYSTEMS[name] != self.wire.dead for name in busy)


def _address(url: str, name: str) -> str:
    return f"{url}/redfish/v1/Systems/{SYSTEMS[name]}"


def _settings(at_once: int) -> PowerSettings:
    return replace(USUAL, classes=(CLASS,), at_once=at_once, wake_default=timedelta(minutes=5))


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Yield the hosts, which all sleep, from where ten machines are switched at once."""
    with (
        emulator(tmp_path, tuple(SYSTEMS.values())) as url,
        wire(url) as (made, relayed),
        make_service(tmp_path, settings=AT_ONCE.having(_settings(len(SYSTEMS)))) as world,
    ):
        add_hosts(world.engine, (HostSpec(100 + n, name, name, 8, 32768, 200) for n, name in enumerate(SYSTEMS)))
        world.enrol(*SYSTEMS)
        for name in SYSTEMS:
            set_machine(world.service, world.host(name).id, "bmc", _address(relayed, name), kept_on=False)
            world.cloud.machines.set(name, seconds=BOOTS)
        found = Hall(Night(world), made)
        world.clock.advance(minutes=20)
        found.run(world.hour(2), lambda: set(found.night.stages().values()) == {"asleep"})
        assert set(found.night.stages().values()) == {"asleep"}, found.night.stages()
        yield replace(found, night=Night(_with(world, _settings(AT_ONCE_MOST))))


def _with(world: World, settings: PowerSettings) -> World:
    return replace(world, service=replace(world.service, settings=world.service.settings.having(settings)))


def test_forty_wake_up_for_one_lease_and_one_of_them_never_does(hall: Hall) -> None:
    world = hall.night.world
    start = world.hour(8)
    lease = world.lease(hosts(NEEDED), start=8, end=9)
    dead = min(world.holds(lease))
    hall.wire.bad, hall.wire.dead, hall.wire.most = True, SYSTEMS[dead], 0
    world.clock.set(start - timedelta(minutes=14))
    hall.run(start - timedelta(seconds=1))
    stages, held = hall.night.stages(), world.holds(lease)
    assert stages[dead] == "failed"
    assert len(held.keys() - {dead}) == NEEDED
    assert {stages[name] for name in held} == {"on"}
    assert 1 < hall.wire.most <= AT_ONCE_MOST
    hall.run(start)
    assert world.status(lease) == "ACTIVE"
    (row,) = report(world.service, start - timedelta(days=1), start + timedelta(hours=1))
    assert (row[1].late_starts, row[1].failed_wakes) == (0, 1)
    assert row[1].wakes >= NEEDED
