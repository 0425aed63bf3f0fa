"""Options of the record of usage."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class UsageSettings:
    """How often the event log is followed, and how often the cloud is asked what is used, in seconds; 0: never."""

    follow_seconds: float = 10.0
    poll_seconds: float = 300.0


_OPTIONS = [
    cfg.FloatOpt(
        "follow_seconds",
        min=0.0,
        max=3600.0,
        help="Seconds between two looks of a manager at the events of leases, of which the record says what was late, "
        "missing or given up; 0 means that no manager of this configuration looks. Nothing is lost meanwhile, unless "
        "it is purged.",
    ),
    cfg.FloatOpt(
        "poll_seconds",
        min=0.0,
        max=86400.0,
        help="Seconds between two looks of a manager at what runs on the resources of active leases; 0 means that "
        "nobody looks, and what was used is not known. It is the precision of what usage reports say was used.",
    ),
]
OPTIONS = Options("usage", _OPTIONS, UsageSettings)
