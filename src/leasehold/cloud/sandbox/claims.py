"""The claims of the sandbox's Placement: rows that take all that is left of a provider.

One row for each class is enough here; on a real Placement, `max_unit` makes several consumers necessary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, select, union, update

from leasehold.cloud.ports import Inventory
from leasehold.cloud.sandbox.port import CONSUMED, STILL_THERE
from leasehold.cloud.sandbox.tables import claims, inventories, moves, providers, servers, usages

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
_INVENTORIES = select(inventories).where(inventories.c.provider_id == bindparam("provider_id"))
_USED = (
    select(CONSUMED.c.resource_class, func.sum(CONSUMED.c.amount).label("amount"))
    .where(CONSUMED.c.provider_id == bindparam("provider_id"))
    .group_by(CONSUMED.c.resource_class)
)
_OURS = select(claims.c.resource_class, claims.c.amount).where(claims.c.provider_id == bindparam("provider_id"))
_OTHERS = union(
    select(usages.c.server_id).join(servers).where(usages.c.provider_id == bindparam("provider_id"), STILL_THERE),
    select(moves.c.server_id)
    .join(servers)
    .where(moves.c.provider_id == bindparam("provider_id"), moves.c.done_at > bindparam("now"), STILL_THERE),
)
_ADD = insert(claims)
_RAISE = (
    update(claims)
    .where(claims.c.provider_id == bindparam("provider"), claims.c.resource_class == bindparam("class_name"))
    .values(amount=bindparam("new_amount"))
)
_RELEASE = delete(claims).where(
    claims.c.provider_id.in_(select(providers.c.id).where(providers.c.name == bindparam("provider")))
)
_CLAIMED = (
    select(providers.c.name)
    .join(claims, claims.c.provider_id == providers.c.id)
    .where(providers.c.name.in_(bindparam("names", expanding=True)))
    .distinct()
)


def claim_rest(connection: Connection, provider_id: int, now: datetime) -> frozenset[str]:
    """Claim all that is left of every class of the provider, and return the servers that use it.

    The caller holds the scheduler's lock.
    """
    key = {"provider_id": provider_id}
    used = {row.resource_class: int(row.amount) for row in connection.execute(_USED, {**key, "now": now})}
    ours = {row.resource_class: row.amount for row in connection.execute(_OURS, key)}
    added, raised = [], []
    for row in connection.execute(_INVENTORIES, key).mappings():
        name = row["resource_class"]
        left = Inventory(**{field: row[field] for field in _FIELDS}).capacity - used.get(name, 0)
        if left > 0 and name in ours:
            raised.append({"provider": provider_id, "class_name": name, "new_amount": ours[name] + left})
        elif left > 0:
            added.append({"provider_id": provider_id, "resource_class": name, "amount": left})
    for statement, rows in ((_ADD, added), (_RAISE, raised)):
        if rows:
            connection.execute(statement, rows)
    return frozenset(connection.execute(_OTHERS, {**key, "now": now}).scalars())


def release_claims(connection: Connection, provider: str) -> None:
    """Remove our claims from the provider."""
    connection.execute(_RELEASE, {"provider": provider})


def claimed(connection: Connection, names: Collection[str]) -> frozenset[str]:
    """Return those of the providers that have claims of ours."""
    return frozenset(connection.execute(_CLAIMED, {"names": sorted(names)}).scalars())
