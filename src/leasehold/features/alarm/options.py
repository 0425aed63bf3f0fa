"""Options of capacity alarms."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class AlarmSettings:
    """How often alarms are checked, in seconds, and how many a project may have."""

    alarm_seconds: float = 10.0
    alarms: int = 20


_OPTIONS = [
    cfg.FloatOpt(
        "alarm_seconds",
        min=0.0,
        max=3600.0,
        help="Seconds between two checks of the capacity alarms, and the most that one check of all of them takes; 0 "
        "means that there are no alarms. One of the managers checks them, and keeps calendars of its own for that.",
    ),
    cfg.IntOpt("alarms", min=0, help="How many capacity alarms a project may have; 0 means that nobody can make one."),
]
OPTIONS = Options("manager", _OPTIONS, AlarmSettings)
