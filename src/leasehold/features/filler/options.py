"""Options of fillers: `[filler]`, and a group of its own, `[filler:NAME]`, for each class of hosts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import EXAMPLE, YEAR, Classed, read_fields, take_defaults
from leasehold.model.errors import LeaseholdError
from leasehold.model.properties import ANYTHING, Expression, matches, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.resource import Resource


@dataclass(frozen=True, slots=True)
class FillerClass:
    """Hosts, those that match `hosts`, whose fillers are told another time ahead, or take another time to go."""

    name: str = EXAMPLE
    hosts: Expression = ANYTHING
    notice: timedelta = timedelta(minutes=2)
    evict: timedelta = timedelta(minutes=5)


_NOTICE = cfg.IntOpt(
    "notice_seconds",
    min=0,
    max=YEAR,
    help="So many seconds before its servers end a project is told that a host of its filler is needed.",
)
_EVICT = cfg.IntOpt(
    "evict_seconds",
    min=10,
    max=YEAR,
    help="Seconds within which the servers of a filler have to be gone after their end; the action before the "
    "end may take half of them. If they are not, their host is given up.",
)
_OF_CLASS: Sequence[cfg.Opt] = [
    cfg.StrOpt(
        "hosts", default="", help='The hosts of the class match this: ["==", "$$gpu", "A100"], with each $ twice.'
    ),
    _NOTICE,
    _EVICT,
]
take_defaults(_OF_CLASS, FillerClass())


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
    classes: tuple[FillerClass, ...] = ()

    def of(self, host: Resource) -> FillerSettings:
        """Return the settings for a host: the times are those of the first class that it is of."""
        for each in self.classes:
            if matches(each.hosts, host.values.get):
                return replace(self, notice=each.notice, evict=each.evict)
        return self

    @property
    def longest_leaving(self) -> timedelta:
        """The longest `leaving` of any host."""
        return max([self.evict, *(each.evict for each in self.classes)]) + 2 * self.every

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


def _read_class(conf: cfg.ConfigOpts, name: str) -> FillerClass:
    group = conf[f"filler:{name}"]
    if not group.hosts:
        raise unusable(f'[filler:{name}] hosts: say which hosts are of the class, such as ["==", "$$gpu", "A100"].')
    try:
        hosts = parse(group.hosts, "hosts")
    except LeaseholdError as error:
        raise unusable(f"[filler:{name}] hosts: {error.message}") from error
    return read_fields(FillerClass, group, name=name, hosts=hosts)


OPTIONS = Classed(
    "filler",
    [
        cfg.IntOpt("hosts", min=0, help="How many hosts a project may have in fillers at a time; 0: there are none."),
        cfg.IntOpt("spares", min=0, help="So many idle hosts get no filler, for requests that begin now."),
        _NOTICE,
        _EVICT,
        cfg.ListOpt("classes", help="The names of classes of hosts with other times than these; none by default."),
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
    partial(read_fields, FillerSettings, classes=()),
    of_class=_OF_CLASS,
    read_class=_read_class,
)
