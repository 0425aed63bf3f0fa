"""Corrections: what operators give or take for what was charged, as a row of its own (decision 0157)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from leasehold.db.project import enter
from leasehold.features.price.budget import from_micro
from leasehold.features.price.charge import Charge, Kind
from leasehold.features.price.charge_store import CLOSED, add_charges, charged_until, row_of
from leasehold.features.price.model import HOUR
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import charges, find_budgets, save_budget
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from leasehold.leasing.service import Service


@dataclass(frozen=True, slots=True)
class Correction:
    """So many millionths more are to be charged than by a row; below zero they are given back."""

    charge_id: int
    amount: int
    reason: str


def correct(service: Service, correction: Correction) -> Row[Any]:
    """Write a correction and return it; it is closed with the period of now.

    It counts for the budget that paid for the beginning of what it corrects. Raises NotFoundError, and
    InvalidInputError if more would be given back than was charged, or for a correction of a correction.
    """
    return service.db.transact(lambda connection: _corrected(service, correction, connection))


def _corrected(service: Service, correction: Correction, connection: Connection) -> Row[Any]:
    row = _find(connection, correction.charge_id)
    enter(connection, row.project_id)
    _check(connection, row, correction)
    hour = Window.of_seconds(row.starts_at, row.starts_at + HOUR)
    price = from_micro(correction.amount)
    # No budget paid for what nobody had promised.
    agreed = price if row.kind == Kind.FILLER else Decimal(0)
    charge = Charge(row.reservation_id, Kind.CORRECTION, hour, 1, price, agreed, row.list_name)
    owner, until = (row.project_id, row.user_id), _booked_at(service, connection)
    made = row_of(charge, row.lease_id, owner, row.resource_type, until)
    add_charges(connection, [{**made, "corrects": row.id, "reason": correction.reason}])
    for budget in find_budgets(connection, row.project_id, lock=True):
        more = charge.beside(budget.window) if budget.user_id in ("", row.user_id) else 0
        if more:
            save_budget(connection, replace(budget, encumbered=max(0, budget.encumbered + more)))
    query = select(charges).where(charges.c.corrects == row.id).order_by(charges.c.id.desc()).limit(1)
    return connection.execute(query).one()


def _find(connection: Connection, ident: int) -> Row[Any]:
    row = connection.execute(select(charges).where(charges.c.id == ident)).first()
    if row is None:
        raise NotFoundError("charge_id", str(ident))
    return row


def _check(connection: Connection, row: Row[Any], correction: Correction) -> None:
    if row.kind == Kind.CORRECTION:
        message = f"Charge {row.id} is a correction itself; correct charge {row.corrects}, of which it is one."
        raise InvalidInputError(message, field="charge_id")
    of_it = or_(charges.c.id == row.id, charges.c.corrects == row.id)
    charged = int(connection.execute(select(func.sum(charges.c.amount)).where(of_it)).scalar() or 0)
    if correction.amount < -max(0, charged):
        message = f"With its corrections {from_micro(max(0, charged)):f} was charged, so no more can be given back."
        raise InvalidInputError(message, field="amount")


def _booked_at(service: Service, connection: Connection) -> int:
    """Return the end of the period of now, which nobody has closed."""
    period = int(service.settings.of(PriceSettings).period.total_seconds())
    now = max(to_seconds(service.now()), charged_until(connection, CLOSED))
    return now - now % period + period
