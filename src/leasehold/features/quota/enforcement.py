"""Compares what a lease asks for with the quota of its project: what exceeds it cannot be used as a whole.

A lease is compared alone. What else the project uses then is not known yet, and what it uses now says little of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from leasehold.conf.errors import unusable
from leasehold.enforcement.base import Added
from leasehold.enforcement.outside import OnFailure, Outside
from leasehold.features.quota.options import Beyond, QuotaSettings
from leasehold.model.errors import LimitExceededError
from leasehold.model.use import Use

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.cloud.ports import Cloud, Quota
    from leasehold.conf.settings import Settings
    from leasehold.enforcement.deciding import Amounts, Deciding
    from leasehold.model.lease import Lease

LONGEST: Final = timedelta(minutes=1)
"""How long a quota that was read is used; while the cloud does not answer, the last one is."""
_WORDS = {
    "instances": ("servers (each host needs one at least)", "instances", "Nova"),
    "vcpus": ("vCPUs", "cores", "Nova"),
    "memory_mb": ("MiB of memory", "ram", "Nova"),
    "floating_ips": ("floating IPs", "floating IPs", "Neutron"),
}
"""What is asked for, in words; and what the service calls its quota, with the service."""


class BeyondQuotaError(LimitExceededError):
    """The lease asks for more than its project may use by its own quota."""

    code = "leasehold.enforcement.quota"


def added(settings: Settings, cloud: Cloud) -> Added | None:
    """Return what compares leases with quotas; raises ConfigurationError where the cloud has none."""
    own = settings.of(QuotaSettings)
    if own.beyond_quota is Beyond.ALLOW:
        return None
    if cloud.quotas is None:
        raise unusable("[enforcement] beyond_quota: the sandbox has no quotas, so write allow.")
    outside = Outside("The quota of the project", cloud.quotas.of, LONGEST, OnFailure.LAST_KNOWN)
    compared = Compared(outside.of)
    if own.beyond_quota is Beyond.REFUSE:
        return Added(outside, rule=compared)
    return Added(outside, warnings=compared.exceeded)


@dataclass(frozen=True, slots=True)
class Compared:
    """Implements `Filter`; `quota_of` returns the quota of a project and raises NotKnownNowError."""

    quota_of: Callable[[str], Quota]

    @property
    def limits(self) -> bool:
        """Whether any limit is configured."""
        return True

    def check_create(self, lease: Lease, deciding: Deciding) -> None:
        """Raise BeyondQuotaError for a new lease that could not be used."""
        for error in self.exceeded(lease, deciding.types):
            raise error

    def check_update(self, lease: Lease, proposed: Lease, deciding: Deciding) -> None:
        """Raise BeyondQuotaError for an amendment that asks for more of what is beyond the quota."""
        before, asked = _asked(lease, deciding.types), _asked(proposed, deciding.types)
        if any(amount > before[name] for name, amount in asked.items()):
            for error in self.exceeded(proposed, deciding.types):
                if asked[error.details["what"]] > before[error.details["what"]]:
                    raise error

    def exceeded(self, lease: Lease, types: Amounts) -> list[BeyondQuotaError]:
        """Return an error for each quota that a lease exceeds; raises NotKnownNowError."""
        asked = {name: amount for name, amount in _asked(lease, types).items() if amount}
        if not asked:
            return []
        quota, found = self.quota_of(lease.project_id), []
        for name, amount in asked.items():
            limit: int | None = getattr(quota, name)
            if limit is not None and amount > limit:
                word, quota_word, service = _WORDS[name]
                message = (
                    f"The lease asks for {amount} {word}, and the project's quota in {service} is {limit} "
                    f"{quota_word}, so it could not use all of them. Ask for {limit} at most, or ask an administrator "
                    "for a larger quota."
                )
                details = {"what": name, "limit": limit, "asked": amount, "source": service}
                found.append(BeyondQuotaError(message, field="reservations", details=details))
        return found


def _asked(lease: Lease, types: Amounts) -> dict[str, int]:
    """Return what the lease may get by its requests, by the name in a `Quota`: one server on each host, and slots."""
    uses = [(part, types.use(part)) for part in lease.kept]
    use = sum((each for _, each in uses), Use())
    servers = sum(types.amount(part) for part, each in uses if each.hosts or each.vcpus or each.memory_mb)
    return {
        "instances": servers,
        "vcpus": use.vcpus,
        "memory_mb": use.memory_mb,
        "floating_ips": use.floating_ips,
    }
