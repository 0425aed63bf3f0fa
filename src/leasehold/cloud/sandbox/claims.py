"""The claims of the sandbox's Placement: rows that take all that is left of a provider.

One row for each class is enough here; on a real Placement, `max_unit` makes several consumers necessary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, bindparam, delete, func, insert, select, union, update

from leasehold.cloud.ports import Inventory
from leasehold.cloud.sandbox.port import CONSUMED, STILL_THERE
from leasehold.cloud.sandbox.tables import claims, inventories, moves, providers, servers, usages

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

_PROVIDER_ID = select(providers.c.id).where(providers.c.name == bindparam("provider")).scalar_subquery()
_USED = (
    select(
        CONSUMED.c.resource_class,
        func.sum(CONSUMED.c.amount).label("amount"),
        func.count(CONSUMED.c.server_id).label("servers"),
    )
    .where(CONSUMED.c.provider_id == _PROVIDER_ID)
    .group_by(CONSUMED.c.resource_class)
    .subquery("used")
)
_INVENTORIES = (
    select(
        providers.c.id,
        inventories.c.resource_class,
        *(inventories.c[field] for field in Inventory.__dataclass_fields__),
        func.coalesce(_USED.c.amount, 0).label("used"),
        func.coalesce(_USED.c.servers, 0).label("servers"),
        claims.c.amount.label("ours"),
    )
    .outerjoin(inventories, inventories.c.provider_id == providers.c.id)
    .outerjoin(_USED, _USED.c.resource_class == inventories.c.resource_class)
    .outerjoin(
        claims, and_(claims.c.provider_id == providers.c.id, claims.c.resource_class == inventories.c.resource_class)
    )
    .where(providers.c.name == bindparam("provider"))
)
"""The provider's row once for each of its inventories, and once without one if it has none."""
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


def claim_rest(connection: Connection, provider: str, now: datetime) -> frozenset[str]:
    """Claim all that is left of every class of the provider, and return the servers that use it.

    Claims nothing of a provider that does not exist. The caller shares the scheduler's lock.
    """
    rows = connection.execute(_INVENTORIES, {"provider": provider, "now": now}).mappings().all()
    if not rows:
        return frozenset()
    provider_id = rows[0]["id"]
    added, raised = [], []
    for row in rows:
        name, ours = row["resource_class"], row["ours"]
        if name is None:
            continue
        left = Inventory(**{field: row[field] for field in Inventory.__dataclass_fields__}).capacity - int(row["used"])
        if left > 0 and ours is not None:
            raised.append({"provider": provider_id, "class_name": name, "new_amount": ours + left})
        elif left > 0:
            added.append({"provider_id": provider_id, "resource_class": name, "amount": left})
    for statement, values in ((_ADD, added), (_RAISE, raised)):
        if values:
            connection.execute(statement, values)
    if not any(row["servers"] for row in rows):
        # Whatever uses a provider uses a class of which it has an inventory.
        return frozenset()
    return frozenset(connection.execute(_OTHERS, {"provider_id": provider_id, "now": now}).scalars())


def release_claims(connection: Connection, provider: str) -> None:
    """Remove our claims from the provider."""
    connection.execute(_RELEASE, {"provider": provider})


def claimed(connection: Connection, names: Collection[str]) -> frozenset[str]:
    """Return those of the providers that have claims of ours."""
    return frozenset(connection.execute(_CLAIMED, {"names": sorted(names)}).scalars())
