"""Options of fillers: `[filler]`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from oslo_config import cfg

from leasehold.conf.options import YEAR, Options


@dataclass(frozen=True, slots=True)
class FillerSettings:
    """How many hosts fillers may have, and how they go; with `hosts` 0 nobody gets one."""

    hosts: int = 0
    spares: int = 0
    notice: timedelta = timedelta(minutes=2)
    evict: timedelta = timedelta(minutes=5)
    least: timedelta = timedelta(minutes=10)
    longest: timedelta = timedelta(0)
    every: timedelta = timedelta(seconds=5)

    @property
    def leaving(self) -> timedelta:
        """How long before a promise the servers on its host end: a round sees that they have to, another that they are
        gone.
        """
        return self.evict + 2 * self.every

    @property
    def takes(self) -> timedelta:
        """How long a host takes from the moment that somebody needs it until it is ready."""
        return self.notice + self.leaving


OPTIONS = Options(
    "filler",
    [
        cfg.IntOpt("hosts", min=0, help="How many hosts a project may have in fillers at a time; 0: there are none."),
        cfg.IntOpt("spares", min=0, help="So many idle hosts get no filler, for requests that begin now."),
        cfg.IntOpt(
            "notice_seconds",
            min=0,
            max=YEAR,
            help="So many seconds before its servers end a project is told that a host of its filler is needed.",
        ),
        cfg.IntOpt(
            "evict_seconds",
            min=10,
            max=YEAR,
            help="Seconds within which the servers of a filler have to be gone after their end; the action before the "
            "end may take half of them. If they are not, their host is given up.",
        ),
        cfg.IntOpt(
            "least_seconds",
            min=0,
            max=YEAR,
            help="A filler gets only hosts on which nothing is promised for so many seconds, if it does not say more.",
        ),
        cfg.IntOpt("longest_seconds", min=0, max=YEAR, help="A filler ends after so many seconds; 0: it need not."),
        cfg.IntOpt(
            "every_seconds", min=1, max=3600, help="Seconds between two looks of a manager at the hosts of fillers."
        ),
    ],
    FillerSettings,
)
