"""Charges: what was billed for time that is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

FORMATS = ("csv", "focus")
"""What charges may be exported as; `focus` is CSV with the columns of FOCUS 1.2."""


@dataclass(frozen=True, slots=True)
class Charge(AnswerModel):
    """What `units` of a reservation cost over `[start, end)`, each at a price an hour; a credit is below zero.

    `hours` are those of all units. Amounts are texts, in the unit of the charges.
    """

    id: int
    lease_id: str
    reservation_id: str
    project_id: str
    user_id: str
    resource_type: str
    kind: str
    price_list: str
    start: datetime
    end: datetime
    units: int
    hours: float
    price: str
    amount: str
    booked_at: datetime
    corrects: int | None
    reason: str | None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Charge:
        start, end, booked = (read_time(values[key]) for key in ("from", "to", "booked_at"))
        return read_as(cls, values, start=start, end=end, booked_at=booked)


@dataclass(frozen=True, slots=True)
class Charges(AnswerModel):
    """The charges that begin in `[begin, until)`, with their sum; all is charged that was over at `closed_until`."""

    begin: datetime
    until: datetime
    closed_until: datetime | None
    unit: str
    total: str
    rows: tuple[Charge, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Charges:
        begin, until = (read_time(values[key]) for key in ("from", "to"))
        closed = values["closed_until"] and read_time(values["closed_until"])
        rows = tuple(map(Charge.read, values["rows"]))
        return read_as(cls, values, begin=begin, until=until, closed_until=closed, rows=rows)


class AllCharges(Calls):
    """The charges of the own project; for administrators of others as well."""

    def show(self, start: datetime | None = None, end: datetime | None = None, **which: Any) -> Charges:
        """Return the charges from start to end, by default of the last 30 days.

        `which` are `lease_id`, `project_id` and `all_projects`.
        """
        return Charges.read(self._transport.get("/charges", _query(start, end, which))["charges"])

    def export(self, form: str, start: datetime | None = None, end: datetime | None = None, **which: Any) -> str:
        """Return them in one of `FORMATS`."""
        return self._transport.get_text("/charges", {**_query(start, end, which), "format": form})

    def correct(self, charge_id: int, amount: str, reason: str) -> Charge:
        """Charge so much more than by a charge, or less if it is below 0, by a row of its own; for administrators."""
        body = {"charge_id": charge_id, "amount": amount, "reason": reason}
        return Charge.read(self._transport.post("/charges/corrections", body)["charge"])


def _query(start: datetime | None, end: datetime | None, which: Mapping[str, Any]) -> dict[str, Any]:
    return said(**{"from": start, "to": end}, **{name: value or None for name, value in which.items()})
