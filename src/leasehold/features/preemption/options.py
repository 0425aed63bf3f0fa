"""The option of the grace period of preemptible servers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from oslo_config import cfg

from leasehold.conf.options import YEAR, Options


@dataclass(frozen=True, slots=True)
class PreemptionSettings:
    """How long before a start projects are told; zero means never."""

    grace: timedelta = timedelta(0)


OPTIONS = Options(
    "physical:host",
    [
        cfg.IntOpt(
            "preemptible_grace_seconds",
            default=0,
            min=0,
            max=YEAR,
            help="Seconds before the start of a lease at which the projects of preemptible servers on its hosts are "
            "told that these will be ended, and from which on no new ones come there; 0: never. No start waits for it.",
        )
    ],
    PreemptionSettings,
    lambda host: PreemptionSettings(timedelta(seconds=host.preemptible_grace_seconds)),
)
