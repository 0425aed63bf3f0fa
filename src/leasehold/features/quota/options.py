"""The option of the quotas that leases are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from oslo_config import cfg

from leasehold.conf.options import Options


class Beyond(StrEnum):
    """What happens to a lease that asks for more than its project's quota."""

    ALLOW = "allow"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """What happens beyond a quota."""

    beyond_quota: Beyond = Beyond.ALLOW


_OPTION = cfg.StrOpt(
    "beyond_quota",
    choices=[each.value for each in Beyond],
    help="What happens to a lease that asks for more than its project's own quota of servers (Nova: instances, cores, "
    "ram) or floating IPs (Neutron), so that it could not be used: `allow` looks at no quota, `warn` says so in the "
    "answer, `refuse` refuses it. Quotas are read again after half a minute. It is the same for all APIs and managers.",
)
OPTIONS = Options("enforcement", [_OPTION], QuotaSettings)
