"""Closing periods: what is charged for time that is over is written once, and never changes (decision 0157)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from leasehold.db.project import enter
from leasehold.db.resources.resource import resources_by_number
from leasehold.features.price.charge import charges, charges_of_stay
from leasehold.features.price.charge_store import (
    CLOSED,
    FOR_EVER,
    add_charges,
    charged_until,
    find_due,
    leases_to_charge,
    note_charged,
    parts_of,
    row_of,
    save_charged,
)
from leasehold.features.price.model import Goods
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import encumber, find_budgets
from leasehold.model.windows import Window, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.features.price.charge import Charge
    from leasehold.features.price.charge_store import Due
    from leasehold.leasing.record import Span
    from leasehold.leasing.service import Service

CHUNK: Final = 200
"""Leases of a project that are charged in one transaction."""
AT_LEAST: Final = 600
"""Seconds: so long after its end a period is closed at the earliest, when all is committed that belongs to it."""


def close(service: Service, stopping: Event | None = None) -> int:
    """Make the charges of all periods that are over and settled; return until when charges are made.

    What stops in between goes on where it was: each lease is charged in a transaction with how far it is.
    """
    period, latest = _period(service), to_seconds(service.now()) - AT_LEAST
    with service.db.reading() as connection:
        before = charged_until(connection, CLOSED)
        if latest - latest % period <= before:
            return before
        settled = min([latest, *(each.settled(connection, latest + AT_LEAST) for each in service.records)])
        until = settled - settled % period
        due = leases_to_charge(connection, until) if until > before else {}
    if until <= before:
        return before
    for project, ids in due.items():
        for some in (ids[first : first + CHUNK] for first in range(0, len(ids), CHUNK)):
            if stopping is not None and stopping.is_set():
                return before
            service.db.transact(partial(_charge, service, project, some, until))
    service.db.transact(partial(_closed, service, before, until))
    return until


def _closed(service: Service, before: int, until: int, connection: Connection) -> None:
    """Note until when all is charged, and charge with that what somebody had without a promise: no budget pays that.

    Raises GenerationRaceError, or IntegrityError for the first time, if another manager has done so meanwhile.
    """
    save_charged(connection, CLOSED, before, until)
    prices = service.settings.of(PriceSettings).prices
    # Before the first period that is closed, nobody knows whether there were prices yet.
    stays = [stay for each in service.stays for stay in each(connection, before, until)] if before else []
    if prices is None or not stays:
        return
    resources = resources_by_number(connection, {each.resource_number for each in stays})
    rows: list[dict[str, Any]] = []
    for stay in stays:
        there, window = resources.get(stay.resource_number), Window.of_seconds(stay.start, stay.end)
        values: Mapping[str, Any] = {} if there is None else there.values
        goods = Goods(stay.resource_type, values.get)
        found = charges_of_stay(stay.id, prices.without_a_promise(goods, stay.granted_at), window, _period(service))
        owner = (stay.project_id, stay.user_id)
        rows += (row_of(each, stay.of, owner, stay.resource_type, until) for each in found)
    add_charges(connection, rows)


def _period(service: Service) -> int:
    return int(service.settings.of(PriceSettings).period.total_seconds())


def _charge(service: Service, project: str, lease_ids: Sequence[str], until: int, connection: Connection) -> None:
    """Charge some leases of a project up to a moment, and give back to its budgets what costs less than was agreed.

    Raises GenerationRaceError, after which it is tried again, if another manager charges them at the same time.
    """
    enter(connection, project)
    due, parts = find_due(connection, lease_ids, until), parts_of(connection, lease_ids)
    if not due:
        return
    spans, kinds = _spans(service, connection, due, until), {ident: each.resource_type for ident, each in parts.items()}
    going_on = {each.lease_id for each in parts.values() if not each.over}
    made = [_made(each, spans, until, _period(service), over=each.lease_id not in going_on) for each in due]
    for each in made:
        if each.reaches != each.due.charged_until:
            note_charged(connection, each.due.lease_id, each.due.charged_until, each.reaches)
    add_charges(connection, [row for each in made for row in each.rows(project, kinds, until)])
    _give_back(connection, project, made)


@dataclass(frozen=True, slots=True)
class _Made:
    """The charges of a lease, and until when it is charged then."""

    due: Due
    charges: Sequence[Charge]
    reaches: int

    def rows(self, project: str, kinds: Mapping[str, str], until: int) -> list[dict[str, Any]]:
        owner = (project, self.due.user_id)
        return [
            row_of(each, self.due.lease_id, owner, kinds.get(each.reservation_id, ""), until) for each in self.charges
        ]


def _made(due: Due, spans: Mapping[str, Sequence[Span]], until: int, period: int, *, over: bool) -> _Made:
    found = charges(due.agreed, spans, Window.of_seconds(due.charged_until, until), period)
    done = over and to_seconds(due.agreed.last) <= until
    return _Made(due, found, FOR_EVER if done else until if found else due.charged_until)


def _spans(service: Service, connection: Connection, due: Sequence[Due], until: int) -> Mapping[str, Sequence[Span]]:
    """Return what became of the reservations of leases since they were charged, by their ids."""
    ids, start = [each.lease_id for each in due], min(each.charged_until for each in due)
    found: dict[str, list[Span]] = defaultdict(list)
    for record in service.records:
        for span in record.spans(connection, ids, start, until):
            found[span.reservation_id].append(span)
    return found


def _give_back(connection: Connection, project: str, made: Sequence[_Made]) -> None:
    """Take from the budgets of a project, which are locked, what its charges differ from what was agreed."""
    differ = [(each.due.user_id, charge) for each in made for charge in each.charges if charge.beside()]
    for budget in find_budgets(connection, project, lock=True) if differ else ():
        mine = [charge for user, charge in differ if budget.user_id in ("", user)]
        more = sum(charge.beside(budget.window) for charge in mine)
        if more:
            encumber(connection, budget, more)
