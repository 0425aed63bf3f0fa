"""Options of the manager: the enabled resource types, and how due work is claimed and retried."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf import metrics
from leasehold.conf.errors import unusable
from leasehold.conf.options import YEAR, read_fields, take_defaults
from leasehold.conf.settings import ManagerSettings, Settings
from leasehold.model.placing.pool_size import NO_SIZE, Size
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RUNG = re.compile(r"([1-9][0-9]{0,8})([smhd])", re.ASCII)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
MOST_RUNGS = 20
"""Each is a condition of the query that looks for leases."""

BLAZAR_PLUGINS = {
    "physical.host.plugin": "physical:host",
    "virtual.instance.plugin": "virtual:instance",
    "virtual.floatingip.plugin": "virtual:floatingip",
    "flavor.instance.plugin": "flavor:instance",
}
"""The resource types of Blazar's plugin names (contract lifecycle §11)."""

BLAZAR_DUMMY_PLUGIN = "dummy.vm.plugin"
"""Blazar's default, which does nothing: a `blazar.conf` may still name it with the real ones."""

MANAGER_OPTIONS = [
    cfg.ListOpt(
        "plugins",
        default=list(Settings().plugins),
        help="Resource types that can be leased, by type or by Blazar's plugin name.",
    ),
    cfg.ListOpt(
        "forgotten_plugins",
        help="Resource types that are removed for good: warnings and ends of their reservations count as done, without "
        "the plugin and without a call to the cloud. Name a type here only when nothing of it is left in the cloud. It "
        "may not be in `plugins`, too.",
    ),
    cfg.IntOpt("workers", min=1, help="Tasks that one manager works on at the same time."),
    cfg.FloatOpt(
        "claim_seconds",
        min=1.0,
        help="Seconds after which another manager takes over the work of a manager that died. A live manager renews "
        "its claims three times as often.",
    ),
    cfg.FloatOpt(
        "poll_seconds",
        min=0.01,
        help="Longest pause, in seconds, between two polls for due work: how late a start may be noticed.",
    ),
    cfg.FloatOpt(
        "event_seconds",
        min=0.01,
        help="Seconds between two looks for new events: how late those who read the event log see one.",
    ),
    cfg.ListOpt(
        "warn_before_end",
        default=["24h", "40m", "10m", "2m"],
        help="How long before the end of a lease its project is reminded, by an event `lease.ends_soon` each: numbers "
        "with `s`, `m`, `h` or `d`. Empty means never. It is for leases that do not choose their `reminder_seconds`. "
        "Blazar's event `before_end_lease` does not depend on it.",
    ),
    cfg.FloatOpt(
        "warn_poll_seconds",
        min=0.1,
        max=60.0,
        help="Seconds between two looks for leases to remind of: how late a reminder may be.",
    ),
    cfg.FloatOpt(
        "retry_first_seconds",
        min=0.0,
        help="Seconds before failed work is tried again. Each further failure doubles the pause.",
    ),
    cfg.FloatOpt(
        "retry_most_seconds",
        min=0.0,
        max=3600.0,
        help="Longest pause, in seconds, between two tries: after an outage of the cloud work resumes within it.",
    ),
    cfg.FloatOpt(
        "retry_refused_seconds",
        min=0.0,
        max=3600.0,
        help="Longest pause, in seconds, between two tries of a call that the cloud refuses (400, 403, 404). When the "
        "cause is repaired, work resumes within that time. The first pause is `retry_first_seconds`; each further one "
        "is four times as long.",
    ),
    cfg.FloatOpt(
        "shutdown_seconds",
        min=0.0,
        help="Seconds for which a stopping manager finishes its work. It gives back the rest, so that another manager "
        "takes it at once.",
    ),
    cfg.ListOpt(
        "unpolled_types",
        default=[],
        help="Resource types whose resources are not asked for their health and for what they have: those in use stay "
        "with their leases, whatever becomes of them. `enable_polling_monitor` says it for hosts. A type may still be "
        "looked at when the message bus says so: `[notifications] pushed_types`.",
    ),
    cfg.FloatOpt(
        "reread_seconds",
        min=0.0,
        max=float(YEAR),
        help="Within this many seconds the capacity, traits and attributes of each resource are read again, a few at "
        "each health check. What is less counts when it is still so after `failure_grace`. 0: never.",
    ),
    cfg.IntOpt(
        "stuck_seconds",
        min=60,
        max=YEAR,
        help="When a lease that is over cannot leave a host for so many seconds, because servers are not deleted, "
        "leases that are to start there get other hosts, as for a failed host. The host stays closed until the servers "
        "are gone.",
    ),
]

HOST_OPTIONS = [
    cfg.BoolOpt(
        "enable_polling_monitor",
        default=True,
        help="Watch the health of the hosts and move reservations away from failed ones. Servers are never deleted "
        "because a host failed. For other types: `[manager] unpolled_types`.",
    ),
    cfg.IntOpt(
        "polling_interval",
        default=int(ManagerSettings().health_seconds),
        min=1,
        max=YEAR,
        help="Seconds between two checks of the hosts.",
    ),
    cfg.IntOpt(
        "failure_grace",
        min=0,
        max=YEAR,
        help="Seconds that a host is down, or forced down, before it counts as failed and its reservations are moved; "
        "by default two polling intervals. A host whose service is only disabled is in maintenance: it gets no new "
        "allocations, and keeps its reservations.",
    ),
    cfg.IntOpt(
        "healing_interval",
        default=60,
        min=0,
        max=YEAR // 60,
        help="Reservations that start within this many minutes are healed, later ones when they come that close; 0 "
        "heals all of them at once.",
    ),
    cfg.FloatOpt(
        "pool_seconds",
        min=0.0,
        max=3600.0,
        help="Seconds between two looks at how many hosts the reservation pool needs: shared hosts are drawn for "
        "leases that wait and for `pool_floor`, and hosts on which nothing is promised are given back. One of the "
        "managers looks. 0: hosts move only when somebody asks for it.",
    ),
    cfg.IntOpt(
        "pool_floor",
        default=NO_SIZE.floor,
        min=0,
        help="Hosts of the reservation pool on which nothing is promised within `pool_lead_seconds`.",
    ),
    cfg.IntOpt(
        "pool_ceiling",
        min=0,
        help="No host is drawn when the reservation pool has this many hosts; those beyond it are given back when "
        "nothing is promised on them. By default there is no ceiling.",
    ),
    cfg.IntOpt(
        "pool_lead_seconds",
        default=int(NO_SIZE.lead.total_seconds()),
        min=0,
        max=YEAR,
        help="Seconds before they are needed that hosts are drawn, and that a host stays in the reservation pool "
        "before it is given back: more than a draw takes.",
    ),
]
take_defaults([*MANAGER_OPTIONS, *HOST_OPTIONS], ManagerSettings())


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(MANAGER_OPTIONS, group="manager")
    conf.register_opts(HOST_OPTIONS, group="physical:host")


def read(conf: cfg.ConfigOpts) -> ManagerSettings:
    """Return how due work is claimed and retried."""
    host = conf["physical:host"]
    return read_fields(
        ManagerSettings,
        conf.manager,
        health_seconds=float(host.polling_interval),
        healing_interval=timedelta(minutes=host.healing_interval),
        failure_grace_seconds=None if host.failure_grace is None else float(host.failure_grace),
        metrics=metrics.read(conf.manager),
        pool_seconds=host.pool_seconds,
        pool_sizes={HOST: _read_size(host)},
        forgotten_plugins=_read_forgotten(conf),
        unpolled=frozenset(types_of(conf.manager.unpolled_types)) | (set() if host.enable_polling_monitor else {HOST}),
        warn_before_end=_read_rungs(conf.manager.warn_before_end),
    )


def _read_size(host: Any) -> Size:
    """Return what the reservation pool is to be; raises ConfigurationError for a floor above the ceiling."""
    if host.pool_ceiling is not None and host.pool_ceiling < host.pool_floor:
        raise unusable(f"[physical:host] pool_floor is {host.pool_floor}, more than pool_ceiling: make it smaller.")
    return Size(host.pool_floor, host.pool_ceiling, timedelta(seconds=host.pool_lead_seconds))


def _read_rungs(texts: Iterable[str]) -> tuple[int, ...]:
    """Return times such as 40m in seconds, each once, longest first; raises ConfigurationError."""
    rungs = set()
    for text in texts:
        match = RUNG.fullmatch(text)
        seconds = int(match[1]) * UNITS[match[2]] if match else 0
        if not 1 <= seconds <= YEAR:
            raise unusable(
                f"[manager] warn_before_end has {text!r}: write a time such as 24h or 40m, of a year at most."
            )
        rungs.add(seconds)
    if len(rungs) > MOST_RUNGS:
        raise unusable(f"[manager] warn_before_end has more than {MOST_RUNGS} times.")
    return tuple(sorted(rungs, reverse=True))


def read_plugins(conf: cfg.ConfigOpts) -> tuple[str, ...]:
    """Return the enabled resource types, Blazar's plugin names translated, each once, in the order given."""
    return tuple(dict.fromkeys(types_of(conf.manager.plugins)))


def _read_forgotten(conf: cfg.ConfigOpts) -> frozenset[str]:
    """Return the resource types that are removed for good; raises ConfigurationError for one that is enabled."""
    forgotten = frozenset(types_of(conf.manager.forgotten_plugins))
    both = sorted(forgotten.intersection(read_plugins(conf)))
    if both:
        raise unusable(
            f"[manager] forgotten_plugins names {', '.join(both)}, which [manager] plugins enables: name it once."
        )
    return forgotten


def types_of(names: Iterable[str]) -> Iterator[str]:
    """Return the resource types that an option names, Blazar's plugin names translated."""
    return (BLAZAR_PLUGINS.get(name, name) for name in names if name != BLAZAR_DUMMY_PLUGIN)
