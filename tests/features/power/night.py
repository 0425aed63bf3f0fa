"""A service whose hosts may sleep, run second by second as managers run it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.power.machines import list_machines, set_machine
from leasehold.features.power.options import MachineClass, PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.manager.monitor import check_once
from leasehold.model.resource import Health
from tests.factory import AT_ONCE, World, make_service, run_manager
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from leasehold.conf.settings import LeaseSettings
    from leasehold.features.power.machines import MachineNow

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
SHUTS_DOWN, WAKES = timedelta(minutes=2), timedelta(minutes=10)
CLASS = MachineClass("box", driver="sandbox", shut_down=SHUTS_DOWN, watts_on=110, watts_off=10)
USUAL = PowerSettings(
    classes=(CLASS,),
    idle=timedelta(minutes=20),
    least_on=timedelta(0),
    least_off=timedelta(minutes=30),
    spares=0,
    wake_default=WAKES,
)
BOOTS = 120
"""Seconds that machines take to boot, and to shut down."""


@dataclass
class Night:
    """A world with the rounds that switch its machines, and a health check each minute."""

    world: World
    rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.world.service)

    def enrol(self, *names: str, seconds: int = BOOTS) -> None:
        """Say how the machines of these hosts are switched, which take so many seconds."""
        for name in names:
            set_machine(self.world.service, self.world.host(name).id, CLASS.name, name, kept_on=False)
            self.world.cloud.machines.set(name, seconds=seconds)

    def machine(self, name: str) -> MachineNow:
        return next(each for each in list_machines(self.world.service) if each.resource.label == name)

    def stages(self) -> dict[str, str]:
        return {each.resource.label: str(each.stage) for each in list_machines(self.world.service)}

    def step(self) -> None:
        """Do what managers do at this moment."""
        self.rounds.run()
        run_manager(self.world)
        if self.world.now().second == 0:
            check_once(self.world.service)
            run_manager(self.world)

    def run_until(self, moment: datetime) -> None:
        """Let the time go by in rounds, up to a moment."""
        every = self.rounds.service.settings.of(PowerSettings).every
        self.step()
        while self.world.now() < moment:
            self.world.clock.set(min(moment, self.world.now() + every))
            self.step()

    def run_for(self, **parts: float) -> None:
        self.run_until(self.world.now() + timedelta(**parts))

    def fall_asleep(self) -> None:
        """Let all machines sleep that may."""
        self.run_for(minutes=30)
        assert set(self.stages().values()) == {"asleep"}, self.stages()
        assert {each.health for each in self.world.listed()} == {Health.ASLEEP}


def checked(site: Night) -> None:
    """Check that the database and the cloud agree."""
    audit(site.world)
    assert not audit_cloud(site.world.service, Pace(between_looks=0, wait=lambda _: None))


@contextmanager
def night(
    where: Path | str, hosts: tuple[str, ...] = HOSTS, leases: LeaseSettings = AT_ONCE.leases, **settings: Any
) -> Iterator[Night]:
    """Yield a service with these hosts, whose machines can all be switched."""
    usual = replace(AT_ONCE, leases=leases).having(replace(USUAL, **settings))
    with make_service(where, settings=usual, hosts=hosts) as world:
        made = Night(world)
        made.enrol(*hosts)
        yield made
