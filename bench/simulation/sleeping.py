"""The machines under the hosts of a simulation that lets hosts sleep: enrolled, and slow to boot now and then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.simulation.site import ADMIN, SETTINGS
from leasehold.features.power.machines import set_machine
from leasehold.features.power.options import MachineClass, PowerSettings

if TYPE_CHECKING:
    from random import Random

    from bench.simulation.site import Site
    from leasehold.conf.settings import Settings

CLASS: Final = MachineClass("node", driver="sandbox", watts_on=110, watts_off=8)
"""Watts of a server with two processors that does nothing, and of its management controller, as an example."""
FASTEST, SLOWEST = timedelta(minutes=2), timedelta(minutes=6)
"""How long a machine takes to boot, or to shut down."""
EVERY: Final = timedelta(minutes=1)
"""Between two rounds: those of a manager, every ten seconds, would be most of the work of the simulation."""


def sleeping(spares: int) -> Settings:
    """Return the settings of a site whose hosts sleep when nobody needs them, but for so many spares."""
    power = PowerSettings(
        (CLASS,),
        every=EVERY,
        idle=timedelta(minutes=10),
        least_on=timedelta(minutes=10),
        least_off=timedelta(minutes=30),
        spares=spares,
    )
    return replace(SETTINGS, features={**SETTINGS.features, PowerSettings: power})


def enrol_machines(site: Site, rng: Random) -> None:
    """Say how the machines of all hosts are switched, if the settings let hosts sleep."""
    if site.world.service.settings.of(PowerSettings).classes:
        for each in site.expect(site.ask(ADMIN, "GET", "/os-hosts"), 200).json["hosts"]:
            name = each["hypervisor_hostname"]
            set_machine(site.world.service, each["id"], CLASS.name, name, kept_on=False)
            seconds = rng.randint(int(FASTEST.total_seconds()), int(SLOWEST.total_seconds()))
            site.world.cloud.machines.set(name, seconds=seconds)
