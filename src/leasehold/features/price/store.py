"""The tables of prices, and the rows of what was agreed with the owners of leases, and of budgets."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Text, bindparam, insert, or_, select, update

from leasehold.db.owned import OwnedRows
from leasehold.db.tables import RECORD, leases, table
from leasehold.db.types import COUNTED, BigKey, UtcDateTime
from leasehold.features.price import warned_store  # noqa: F401 - its tables are loaded with these
from leasehold.features.price.agreement import Agreement, Line, Once, placed
from leasehold.features.price.budget import AtEnd, Budget
from leasehold.features.price.model import Tariff, TimeFactor
from leasehold.model.hours import read_zone
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select

    from leasehold.db.together import Writer
    from leasehold.model.lease import Lease

# Like segments, they have no foreign keys and outlive their leases, until the record is purged. Charges are made up to
# `charged_until`.
agreements = table(
    "agreements",
    Column("lease_id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("terms", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Column("charged_until", BigInteger, nullable=False, server_default="0", index=True),
    info={RECORD: "ends_at"},
)
# Amounts are in millionths of the unit of the prices.
budgets = table(
    "budgets",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("starts_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("encumbered", BigInteger, nullable=False),
    Column("recount", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("at_end", String(8), nullable=False, server_default=AtEnd.RUN),
    Index(None, "project_id"),
)
# Closed rows, which never change. Prices are decimals as text, amounts millionths of the unit of the prices: `amount`
# is what is charged, and `beside` how much more that is than what was agreed, mostly less. `booked_at` is the end of
# the period with which a row was closed. A correction says which row it `corrects`, and for what `reason`.
charges = table(
    "charges",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("reservation_id", String(36), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("list_name", String(80), nullable=False),
    Column("units", BigInteger, nullable=False),
    Column("price", String(100), nullable=False),
    Column("agreed", String(100), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("beside", BigInteger, nullable=False),
    Column("starts_at", BigInteger, nullable=False, index=True),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Column("booked_at", BigInteger, nullable=False, index=True),
    Column("corrects", BigInteger, index=True),
    Column("reason", String(255)),
    Index(None, "project_id", "starts_at"),
    info={RECORD: "ends_at"},
    **COUNTED,
)
# By what makes or sends charges: until when it has.
charged = table(
    "charged",
    Column("name", String(16), primary_key=True),
    Column("until", BigInteger, nullable=False),
)
BUDGETS = OwnedRows(budgets, Budget)
_OF_PROJECT = select(budgets).where(budgets.c.project_id == bindparam("project")).order_by(budgets.c.id)
_OF_PROJECT_LOCKED = _OF_PROJECT.with_for_update()
_ENCUMBER = (
    update(budgets)
    .where(
        budgets.c.id == bindparam("budget"),
        budgets.c.version == bindparam("known"),
        or_(bindparam("more", type_=BigInteger) <= 0, budgets.c.amount - budgets.c.encumbered >= bindparam("more")),
    )
    .values(encumbered=budgets.c.encumbered + bindparam("more"))
)
_INSERT = insert(agreements)
_UPDATE = update(agreements).where(agreements.c.lease_id == bindparam("lease"))
_UPDATE = _UPDATE.values(terms=bindparam("agreed"), changed_at=bindparam("moment"), ends_at=bindparam("end"))


def find_agreement(connection: Connection, lease_id: str) -> Agreement | None:
    """Return what was agreed about a lease; None: nothing had a price then."""
    return find_agreements(connection, [lease_id]).get(lease_id)


def find_agreements(connection: Connection, lease_ids: Collection[str]) -> Mapping[str, Agreement]:
    """Return what was agreed about each of these leases; one statement."""
    query = agreed_terms(agreements.c.lease_id).where(agreements.c.lease_id.in_(lease_ids))
    return {row.lease_id: read_agreed(row) for row in connection.execute(query)}


def agreed_terms(*more: Column[Any]) -> Select[Any]:
    """Select what `read_agreed` reads, and more columns of agreements."""
    there = agreements.outerjoin(leases, leases.c.id == agreements.c.lease_id)
    return select(agreements.c.terms, leases.c.start_at, *more).select_from(there)


def read_agreed(row: Row[Any]) -> Agreement:
    """Return an agreement where its lease is now; one whose lease was purged is as it was written."""
    agreed = read_terms(row.terms)
    return agreed if row.start_at is None else placed(agreed, row.start_at)


def add_agreement(writes: Writer, lease: Lease, agreed: Agreement, moment: int) -> None:
    """Write what is agreed about a lease that had no agreement."""
    row: dict[str, Any] = {"lease_id": lease.id, "project_id": lease.project_id, "user_id": lease.user_id}
    row |= {"terms": write_terms(agreed), "changed_at": moment, "ends_at": _end(agreed, moment)}
    writes.execute(_INSERT, row)


def change_agreement(writes: Writer, lease: Lease, agreed: Agreement, moment: int) -> None:
    """Write what is agreed about a lease from now on."""
    end = _end(agreed, moment)
    writes.execute(_UPDATE, {"lease": lease.id, "agreed": write_terms(agreed), "moment": moment, "end": end})


def _end(agreed: Agreement, moment: int) -> int:
    """Return when the last of what is agreed is over, in seconds."""
    return max([moment, *(each.window.seconds[1] for each in agreed.lines)])


def find_budgets(connection: Connection, project_id: str, *, lock: bool = False) -> Sequence[Budget]:
    """Return the budgets of a project and of its members, locked if that is asked for."""
    return BUDGETS.read(connection.execute(_OF_PROJECT_LOCKED if lock else _OF_PROJECT, {"project": project_id}))


def encumber(connection: Connection, budget: Budget, more: int) -> bool:
    """Take so many millionths more of a budget, or give them back; False, and nothing is taken, if there are too few.

    Nor if the budget is gone, or of another version by now.
    """
    values = {"budget": budget.id, "known": budget.version, "more": more}
    return connection.execute(_ENCUMBER, values).rowcount == 1


def save_budget(connection: Connection, budget: Budget) -> None:
    """Write all that may change of a budget, which this transaction has locked."""
    values = {name: getattr(budget, name) for name in ("name", "amount", "ends_at", "encumbered", "recount", "at_end")}
    connection.execute(update(budgets).where(budgets.c.id == budget.id).values(values))


def outdate_budgets(connection: Connection, project_id: str) -> None:
    """Let nobody take from the budgets of a project as they were known until now."""
    statement = update(budgets).where(budgets.c.project_id == project_id)
    connection.execute(statement.values(version=budgets.c.version + 1))


def budgets_to_count(connection: Connection, before: datetime) -> Sequence[Budget]:
    """Return the budgets that were made before a moment and have to be counted again."""
    return BUDGETS.read(connection.execute(select(budgets).where(budgets.c.recount, budgets.c.created_at < before)))


def over_too_early(connection: Connection, now: datetime) -> Sequence[str]:
    """Return the leases that are over although something is agreed for a time ahead."""
    over = or_(leases.c.deleted_at.is_not(None), leases.c.status.in_((LeaseStatus.TERMINATED, LeaseStatus.TERMINATING)))
    query = select(agreements.c.lease_id).join(leases, leases.c.id == agreements.c.lease_id)
    return connection.execute(query.where(agreements.c.ends_at > to_seconds(now), over)).scalars().all()


def agreements_of(connection: Connection, project_id: str, user_id: str) -> list[Agreement]:
    """Return what was agreed about the leases of a project, or about those of one member of it; "" is for all."""
    query = agreed_terms().where(agreements.c.project_id == project_id)
    if user_id:
        query = query.where(agreements.c.user_id == user_id)
    return list(map(read_agreed, connection.execute(query)))


def write_terms(agreed: Agreement) -> str:
    """Return an agreement as JSON; each tariff is written once."""
    tariffs = list(dict.fromkeys(each.tariff for each in (*agreed.lines, *agreed.given_up)))
    lines, given_up = (
        [[each.reservation_id, *each.window.seconds, each.units, tariffs.index(each.tariff)] for each in some]
        for some in (agreed.lines, agreed.given_up)
    )
    once = [[each.reservation_id, to_seconds(each.due_at), str(each.amount)] for each in agreed.once]
    found = {"tariffs": list(map(_tariff, tariffs)), "lines": lines, "given_up": given_up, "once": once}
    return json.dumps(found, separators=(",", ":"))


def read_terms(text: str) -> Agreement:
    """Return the agreement that `write_terms` wrote."""
    found = json.loads(text)
    tariffs = [_read_tariff(each) for each in found["tariffs"]]
    lines, given_up = (
        tuple(
            Line(part, Window.of_seconds(start, end), units, tariffs[number])
            for part, start, end, units, number in found[name]
        )
        for name in ("lines", "given_up")
    )
    once = (Once(part, from_seconds(due), Decimal(paid)) for part, due, paid in found["once"])
    return Agreement(lines, given_up, tuple(once))


def _tariff(tariff: Tariff) -> dict[str, Any]:
    amounts = {name: str(getattr(tariff, name)) for name in _AMOUNTS}
    times = [[list(each.hours), str(each.factor)] for each in tariff.times]
    return {"list": tariff.list_name, "zone": tariff.zone.key, **amounts, "times": times}


def _read_tariff(found: Mapping[str, Any]) -> Tariff:
    amounts = {name: Decimal(found[name]) for name in _AMOUNTS}
    times = tuple(TimeFactor(tuple(hours), Decimal(factor)) for hours, factor in found["times"])
    return Tariff(found["list"], zone=read_zone(found["zone"]), times=times, **amounts)


_AMOUNTS = ("hour", "used", "flat", "given_up")
