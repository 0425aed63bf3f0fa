"""Reads the state of the hosts for the scheduler, in a handful of statements."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select

from leasehold.cloud.ports import Inventory
from leasehold.cloud.sandbox.machines import IS_UP
from leasehold.cloud.sandbox.placement import FIELDS
from leasehold.cloud.sandbox.port import CONSUMED
from leasehold.cloud.sandbox.scheduler import HostState, ProviderState
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, hypervisors, inventories, providers, traits
from leasehold_nova.decision import HostAggregate

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

_HOSTS = (
    select(hypervisors.c.id, hypervisors.c.service_host, providers.c.id.label("provider_id"))
    .join(providers, providers.c.name == hypervisors.c.hypervisor_hostname)
    .where(IS_UP, hypervisors.c.enabled)
    .order_by(hypervisors.c.id)
)
_TOTAL = select(func.count()).select_from(hypervisors)
_MEMBERS = select(
    aggregate_hosts.c.service_host, aggregates.c.name, aggregates.c.zone, aggregates.c.metadata.label("facts")
).join(aggregates)
_CHILDREN = select(providers.c.id, providers.c.parent_id).where(providers.c.parent_id.is_not(None))
_INVENTORIES = select(inventories).where(inventories.c.resource_class.in_(bindparam("classes", expanding=True)))
_USED = (
    select(CONSUMED.c.provider_id, CONSUMED.c.resource_class, func.sum(CONSUMED.c.amount).label("amount"))
    .where(CONSUMED.c.resource_class.in_(bindparam("classes", expanding=True)))
    .group_by(CONSUMED.c.provider_id, CONSUMED.c.resource_class)
)
_TRAITS = select(traits)


def read_hosts(
    connection: Connection, classes: Collection[str], now: datetime, *, with_traits: bool
) -> tuple[Sequence[HostState], int]:
    """Return the hosts that are up and enabled, and the number of all hosts.

    Reads only the given resource classes, and traits only on request. Memory grows with hosts and reservations.
    """
    members: dict[str, list[HostAggregate]] = defaultdict(list)
    for member in connection.execute(_MEMBERS):
        members[member.service_host].append(HostAggregate(member.name, member.zone, member.facts))
    trees: dict[int, list[int]] = defaultdict(list)
    for child in connection.execute(_CHILDREN):
        trees[child.parent_id].append(child.id)
    parts = read_providers(connection, classes, now, with_traits=with_traits)
    found = [
        HostState(
            host.id,
            host.service_host,
            tuple(members[host.service_host]),
            tuple(parts.get(number) or ProviderState(number) for number in _tree(host.provider_id, trees)),
        )
        for host in connection.execute(_HOSTS, {"now": now})
    ]
    return found, connection.execute(_TOTAL).scalar_one()


def read_providers(
    connection: Connection, names: Collection[str], now: datetime, *, with_traits: bool
) -> Mapping[int, ProviderState]:
    """Return by number the providers that have these resource classes, of all hosts; one with only traits too."""
    classes = sorted(names)
    have: dict[int, dict[str, Inventory]] = defaultdict(dict)
    for row in connection.execute(_INVENTORIES, {"classes": classes}).mappings():
        have[row["provider_id"]][row["resource_class"]] = Inventory(**{name: row[name] for name in FIELDS})
    used: dict[int, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(_USED, {"classes": classes, "now": now}).mappings():
        used[row["provider_id"]][row["resource_class"]] = int(row["amount"])
    shown: dict[int, set[str]] = defaultdict(set)
    if with_traits:
        for row in connection.execute(_TRAITS).mappings():
            shown[row["provider_id"]].add(row["trait"])
    return {
        number: ProviderState(number, have[number], used[number], frozenset(shown[number]))
        for number in have.keys() | shown.keys()
    }


def _tree(root: int, children: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the provider and its descendants, the root first."""
    return [root, *(number for child in children.get(root, ()) for number in _tree(child, children))]
