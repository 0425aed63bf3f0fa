"""The sandbox's scheduler: pure functions that choose a server's host from the state of the hosts.

It filters as Nova does, in this order: the host is up, our own filter passes, tenant isolation allows the project, and
Placement's inventories and traits fit. Each resource class comes from one provider of the host's tree, as in Placement.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudPermanentError
from leasehold_nova.decision import TENANT_KEY, FilterOptions, HostAggregate, Request, decide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cloud.ports import Flavor, Inventory

_MB_IN_GB = 1024


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider of a host's tree: its inventories, traits, and what servers use."""

    id: int
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()

    def free(self, resource_class: str) -> int:
        """Return how much of a class is free; 0 when the provider has none, below 0 when it is over-committed."""
        inventory = self.inventories.get(resource_class)
        return 0 if inventory is None else inventory.capacity - self.used.get(resource_class, 0)

    def fits(self, resource_class: str, amount: int) -> bool:
        """Return whether one server may use `amount`, by Placement's rules for units, steps and capacity."""
        inventory = self.inventories.get(resource_class)
        return (
            inventory is not None
            and inventory.min_unit <= amount <= inventory.max_unit
            and amount % inventory.step_size == 0
            and amount <= self.free(resource_class)
        )


@dataclass(frozen=True, slots=True)
class HostState:
    """One host that is up and enabled: its aggregates and its providers, the host's own first."""

    id: int
    service_host: str
    aggregates: tuple[HostAggregate, ...]
    providers: tuple[ProviderState, ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a flavor requests from Placement: amounts by resource class, and traits."""

    amounts: Mapping[str, int]
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Choice:
    """The host for a server, and by class the id of the provider that supplies it; or None and the reason."""

    service_host: str | None
    providers: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


def needs_of(flavor: Flavor) -> Needs:
    """Return what servers of this flavor need (contract resources §4 says which extra specs count)."""
    swap_gb = -(-flavor.swap_mb // _MB_IN_GB)
    cpu = "PCPU" if flavor.extra_specs.get("hw:cpu_policy") == "dedicated" else "VCPU"
    amounts = {
        cpu: flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": flavor.disk_gb + flavor.ephemeral_gb + swap_gb,
    }
    for name, value in _specs(flavor, "resources:").items():
        if not value.isdecimal():
            key = f"resources:{name} of flavor {flavor.id}"
            raise CloudPermanentError(f"sandbox servers.boot: {key} is not a number: {value}")
        amounts[name] = int(value)
    traits = _specs(flavor, "trait:")
    required, forbidden = (
        frozenset(name for name, value in traits.items() if value == word) for word in ("required", "forbidden")
    )
    return Needs({name: amount for name, amount in amounts.items() if amount}, required, forbidden)


def _specs(flavor: Flavor, prefix: str) -> dict[str, str]:
    """Return the extra specs with a prefix, without it."""
    return {key.removeprefix(prefix): value for key, value in flavor.extra_specs.items() if key.startswith(prefix)}


def choose(request: Request, needs: Needs, hosts: Sequence[HostState], total: int, options: FilterOptions) -> Choice:
    """Return the host with the most free VCPUs among those that pass, or why there is none.

    `hosts` are those up and enabled out of `total`.
    """
    steps: list[str] = [f"{len(hosts)} of {total} hosts are up and enabled"]
    filters: tuple[tuple[str, Callable[[HostState], str | None]], ...] = (
        ("reservations", lambda host: _reservations(request, host, options)),
        ("tenant isolation", lambda host: _tenants(request, host)),
        ("capacity", lambda host: _capacity(needs, host)),
        ("traits", lambda host: _traits(needs, host)),
    )
    left = list(hosts)
    for name, refuse in filters:
        refusals = [(host, refuse(host)) for host in left]
        left = [host for host, reason in refusals if reason is None]
        steps.append(f"{len(left)} left after {name}{_most_frequent([r for _, r in refusals if r is not None])}")
        if not left:
            return Choice(None, reason="No valid host was found: " + ", ".join(steps) + ".")
    best = max(left, key=lambda host: (sum(p.free("VCPU") for p in host.providers), -host.id))
    return Choice(best.service_host, providers={name: _source(best, name, n) for name, n in needs.amounts.items()})


def _reservations(request: Request, host: HostState, options: FilterOptions) -> str | None:
    decision = decide(request, host.aggregates, options)
    return None if decision.passes else decision.reason


def _tenants(request: Request, host: HostState) -> str | None:
    """Nova's tenant isolation: if aggregates of the host name projects, only those may use the host."""
    named = [str(a.metadata[TENANT_KEY]) for a in host.aggregates if TENANT_KEY in a.metadata]
    allowed = {project.strip() for text in named for project in text.split(",")}
    return None if not allowed or request.project_id in allowed else "the host is kept for other projects"


def _capacity(needs: Needs, host: HostState) -> str | None:
    lacking = [name for name, amount in needs.amounts.items() if not any(p.fits(name, amount) for p in host.providers)]
    return f"not enough {', '.join(sorted(lacking))}" if lacking else None


def _traits(needs: Needs, host: HostState) -> str | None:
    present = frozenset[str]().union(*(provider.traits for provider in host.providers))
    if needs.required <= present and not needs.forbidden & present:
        return None
    return f"traits {', '.join(sorted((needs.required - present) | (needs.forbidden & present)))}"


def _source(host: HostState, resource_class: str, amount: int) -> int:
    return next(provider.id for provider in host.providers if provider.fits(resource_class, amount))


def _most_frequent(reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    reason, count = Counter(reasons).most_common(1)[0]
    return f" ({count}: {reason})"
