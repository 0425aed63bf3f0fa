"""Charges, and how far they are made: their rows (decision 0157). Moments are whole seconds since the epoch."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import func, insert, select, update

from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import leases, reservations
from leasehold.features.price.charge import Charge, Kind
from leasehold.features.price.store import agreed_terms, agreements, charged, charges, read_agreed
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import OPEN_END, Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from leasehold.features.price.agreement import Agreement
    from leasehold.features.price.budget import Budget

CLOSED: Final = "closed"
FOR_EVER: Final = to_seconds(OPEN_END)
_OVER: Final = (LeaseStatus.TERMINATED, LeaseStatus.TERMINATING, LeaseStatus.DELETING)


class Due(NamedTuple):
    """A lease of which something may have to be charged, with what is agreed: it is charged up to a moment."""

    lease_id: str
    user_id: str
    agreed: Agreement
    charged_until: int


class Part(NamedTuple):
    """A reservation of a lease, and whether this is over."""

    lease_id: str
    resource_type: str
    over: bool


def charged_until(connection: Connection, name: str) -> int:
    """Return until when somebody has made or sent charges, 0 before the first time."""
    return connection.execute(select(charged.c.until).where(charged.c.name == name)).scalar() or 0


def save_charged(connection: Connection, name: str, before: int, after: int) -> None:
    """Write until when somebody has made or sent charges.

    Raises GenerationRaceError, or IntegrityError for the first time, when another process has gone on meanwhile.
    """
    if not before:
        connection.execute(insert(charged), {"name": name, "until": after})
        return
    mine = (charged.c.name == name, charged.c.until == before)
    _one(connection.execute(update(charged).where(*mine).values(until=after)).rowcount)


def leases_to_charge(connection: Connection, until: int) -> Mapping[str, Sequence[str]]:
    """Return the leases of each project of which something before a moment may not be charged."""
    query = select(agreements.c.project_id, agreements.c.lease_id).where(agreements.c.charged_until < until)
    found: dict[str, list[str]] = {}
    for project, lease in connection.execute(query):
        found.setdefault(project, []).append(lease)
    return found


def find_due(connection: Connection, lease_ids: Collection[str], until: int) -> Sequence[Due]:
    """Return those of these leases that are charged up to an earlier moment."""
    query = agreed_terms(agreements.c.lease_id, agreements.c.user_id, agreements.c.charged_until)
    query = query.where(agreements.c.lease_id.in_(lease_ids), agreements.c.charged_until < until)
    rows = connection.execute(query)
    return [Due(row.lease_id, row.user_id, read_agreed(row), row.charged_until) for row in rows]


def parts_of(connection: Connection, lease_ids: Collection[str]) -> Mapping[str, Part]:
    """Return the reservations of leases, deleted ones too, by their ids; none of those that were purged."""
    query = (
        select(reservations.c.id, leases.c.id, reservations.c.resource_type, leases.c.deleted_at, leases.c.status)
        .join(leases, leases.c.id == reservations.c.lease_id)
        .where(leases.c.id.in_(lease_ids))
    )
    return {
        row[0]: Part(row[1], row[2], row.deleted_at is not None or row.status in _OVER)
        for row in connection.execute(query)
    }


def note_charged(connection: Connection, lease_id: str, before: int, after: int) -> None:
    """Write up to when a lease is charged; raises GenerationRaceError when another process has done so meanwhile."""
    mine = (agreements.c.lease_id == lease_id, agreements.c.charged_until == before)
    _one(connection.execute(update(agreements).where(*mine).values(charged_until=after)).rowcount)


def add_charges(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write charges, which never change from then on."""
    if rows:
        connection.execute(insert(charges), list(rows))


def row_of(charge: Charge, lease_id: str, owner: tuple[str, str], resource_type: str, booked_at: int) -> dict[str, Any]:
    """Return the row of a charge; the owner is a project and a user."""
    start, end = charge.window.seconds
    project, user = owner
    return {
        "lease_id": lease_id,
        "reservation_id": charge.reservation_id,
        "project_id": project,
        "user_id": user,
        "resource_type": resource_type,
        "kind": charge.kind.value,
        "list_name": charge.list_name,
        "units": charge.units,
        "price": f"{charge.price.normalize():f}",
        "agreed": f"{charge.agreed.normalize():f}",
        "amount": charge.amount,
        "beside": charge.beside(),
        "starts_at": start,
        "ends_at": end,
        "booked_at": booked_at,
        "corrects": None,
        "reason": None,
    }


def charge_of(row: Row[Any]) -> Charge:
    """Return the charge of a row."""
    window = Window.of_seconds(row.starts_at, row.ends_at)
    prices = (Decimal(row.price), Decimal(row.agreed))
    return Charge(row.reservation_id, Kind(row.kind), window, row.units, *prices, row.list_name)


def beside(connection: Connection, budget: Budget) -> int:
    """Return how much more was charged of a budget than was agreed, in millionths."""
    start, end = budget.window.seconds
    mine = [charges.c.project_id == budget.project_id, charges.c.beside != 0]
    if budget.user_id:
        mine.append(charges.c.user_id == budget.user_id)
    whole = (charges.c.starts_at >= start, charges.c.ends_at <= end)
    total = connection.execute(select(func.sum(charges.c.beside)).where(*mine, *whole)).scalar() or 0
    cut = (charges.c.starts_at < end, charges.c.ends_at > start, ~(whole[0] & whole[1]))
    rows = connection.execute(select(charges).where(*mine, *cut))
    return int(total) + sum(charge_of(row).beside(budget.window) for row in rows)


def beside_of(connection: Connection, lease_ids: Collection[str]) -> int:
    """Return how much more was charged of some leases than was agreed, in millionths."""
    query = select(func.sum(charges.c.beside)).where(charges.c.lease_id.in_(lease_ids))
    return int(connection.execute(query).scalar() or 0)


def booked_between(connection: Connection, after: int, until: int) -> Sequence[int]:
    """Return the ends of the periods that were closed after a moment and have charges, up to another, in order."""
    booked = charges.c.booked_at
    query = select(booked).where(booked > after, booked <= until).distinct().order_by(booked)
    return connection.execute(query).scalars().all()


def each_charge(connection: Connection, which: Iterable[ColumnElement[bool]], limit: int | None) -> Iterator[Row[Any]]:
    """Yield charges, by their begin."""
    query = select(charges).where(*which).order_by(charges.c.starts_at, charges.c.id).limit(limit)
    yield from connection.execute(query)


def _one(changed: int) -> None:
    if changed != 1:
        message = "Another process went on with the charges at the same time."
        raise GenerationRaceError(message)
