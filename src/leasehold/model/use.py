"""What a project uses of what may be limited."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST: Final = 2**53
"""Stands for no limit: more than any real amount, and small enough that sums of several fit a database's integer."""


@dataclass(frozen=True, slots=True)
class Use:
    """How much a project uses: open leases, whole hosts, the vCPUs and memory (MiB) of its instances, floating IPs."""

    leases: int = 0
    hosts: int = 0
    vcpus: int = 0
    memory_mb: int = 0
    floating_ips: int = 0

    def __add__(self, other: Use) -> Use:
        """Return the sum of each amount, at most `MOST`."""
        return Use(*(min(MOST, mine + theirs) for mine, theirs in zip(self.amounts, other.amounts, strict=True)))

    def __neg__(self) -> Use:
        """Return what undoes this."""
        return Use(*(-amount for amount in self.amounts))

    @property
    def amounts(self) -> tuple[int, int, int, int, int]:
        """The amounts in the order of the fields."""
        return self.leases, self.hosts, self.vcpus, self.memory_mb, self.floating_ips

    def growth(self, before: Use) -> Use:
        """Return how much more of each amount this is than `before`, 0 where it is not more."""
        pairs = zip(self.amounts, before.amounts, strict=True)
        return Use(*(max(0, mine - theirs) for mine, theirs in pairs))

    def within(self, most: Use) -> bool:
        """Say whether no amount is more than that of `most`."""
        return all(mine <= limit for mine, limit in zip(self.amounts, most.amounts, strict=True))

    @classmethod
    def of_slots(cls, demand: Mapping[str, int], slots: int) -> Use:
        """Return what `slots` instances use; each one takes `demand`, an amount by resource class."""
        vcpus = demand.get("VCPU", 0) + demand.get("PCPU", 0)
        return cls(vcpus=min(MOST, slots * vcpus), memory_mb=min(MOST, slots * demand.get("MEMORY_MB", 0)))


NAMES: Final = tuple(each.name for each in fields(Use))
"""The amounts by name, in their order; `project_use` has a column for each."""
NO_LIMIT: Final = Use(*(MOST for _ in NAMES))
"""Limits that limit nothing."""
