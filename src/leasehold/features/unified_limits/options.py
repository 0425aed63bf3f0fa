"""Options of limits from Keystone, in the section that says how to log in there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from oslo_config import cfg

from leasehold.conf.keystone import LIMITS
from leasehold.conf.options import Options
from leasehold.enforcement.outside import OnFailure

LONGEST: Final = 60
"""In seconds."""


@dataclass(frozen=True, slots=True)
class UnifiedLimitsSettings:
    """Whether Keystone's limits hold, how long they are used, and what holds while it does not answer."""

    enabled: bool = False
    cache: timedelta = timedelta(seconds=LONGEST)
    on_failure: OnFailure = OnFailure.REFUSE


OPTIONS = Options(
    LIMITS,
    [
        cfg.BoolOpt(
            "enabled",
            help="Whether limits that are registered in Keystone by names such as `reservation:hosts` hold in place of "
            "those of [enforcement]. The section then names an account with a role on the system "
            "(`system_scope = all`). It is the same for all APIs and managers.",
        ),
        cfg.IntOpt(
            "cache_seconds",
            min=1,
            max=LONGEST,
            help="For how many seconds limits that were read are used. After half of them they are read again, before "
            "the next decision about their project.",
        ),
        cfg.StrOpt(
            "on_failure",
            choices=[each.value for each in OnFailure],
            help="What happens to requests when limits are too old and Keystone does not answer: `refuse` answers 503, "
            "`last_known` uses what was read last, and refuses only where nothing was.",
        ),
    ],
    UnifiedLimitsSettings,
)
