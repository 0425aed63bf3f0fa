"""The option of planned capacity."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class CapacitySettings:
    """How often planned capacity is compared with what there is, in seconds."""

    capacity_seconds: float = 30.0


_OPTIONS = [
    cfg.FloatOpt(
        "capacity_seconds",
        min=1.0,
        max=3600.0,
        help="Seconds between two looks at planned capacity: whether hosts that are due have arrived, which leases "
        "need others because they have not, and whether each reserve holds as many hosts as it should.",
    ),
]
OPTIONS = Options("manager", _OPTIONS, CapacitySettings)
