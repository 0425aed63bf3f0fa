"""Charges in the API, from 1.3 on: members see those of their project, administrators all."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time
from leasehold.api.policies.base import ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.reports import as_csv, past_window, query_word, reported_project
from leasehold.api.route import CREATED, EVERY, V1_3, Parameter
from leasehold.features.price import use
from leasehold.features.price.amounts import Difference  # noqa: TC001 - read at run time
from leasehold.features.price.budget import from_micro, to_micro
from leasehold.features.price.charge_store import CLOSED, charge_of, charged_until, each_charge
from leasehold.features.price.correcting import Correction, correct
from leasehold.features.price.focus import COLUMNS, Billed, currency_of, focus_row
from leasehold.features.price.model import HOUR
from leasehold.features.price.store import charges
from leasehold.model.errors import ConflictError, InvalidInputError
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Row

    from leasehold.api.call import Call
    from leasehold.model.windows import Window

MOST: Final = 20_000
FORMATS: Final = ("json", "csv", "focus")

ChargeRow = TypedDict(
    "ChargeRow",
    {
        "id": int,
        "lease_id": str,
        "reservation_id": str,
        "project_id": str,
        "user_id": str,
        "resource_type": str,
        "kind": str,
        "price_list": str,
        "from": str,
        "to": str,
        "units": int,
        "hours": float,
        "price": str,
        "amount": str,
        "booked_at": str,
        "corrects": int | None,
        "reason": str | None,
    },
)
ChargeRow.__doc__ = """What so many hosts, instances or addresses of a reservation cost from one moment to another.

`kind` is `used`, `unused` or `given_up` for time that was promised, `flat` for what is paid once, and for a credit
`late`, when the start was not done, or `missing`, when there was less than was promised; a `filler` had it without a
promise: its id is the `lease_id`, that of its host the `reservation_id`; a `correction` is what
operators gave or took for the row that it `corrects`, and its `reason`. `hours` are those of all `units`, each at the
`price`; `booked_at` is the end of the period with which the row was closed. Decimals as text.
"""
ChargesAnswer = TypedDict(
    "ChargesAnswer",
    {"from": str, "to": str, "closed_until": str | None, "unit": str, "total": str, "rows": list[ChargeRow]},
)
ChargesAnswer.__doc__ = """The charges that begin in a window, and their sum, in a `unit`.

All is charged that was over at `closed_until`, null if nothing is charged yet; what is charged never changes.
"""
OneCharge = answer("OneCharge", "The answer about one charge.", charge=ChargeRow)
SomeCharges = answer("SomeCharges", "The answer about charges.", charges=ChargesAnswer)


def show(call: Call) -> Reply:
    """Show what was charged for time that begins in [`from`, `to`), by default in the last 30 days.

    `format` is `json`, `csv`, or `focus`: CSV with the columns of FOCUS 1.2. Administrators may ask for another
    `project_id`, or for `all_projects`. Charges are made once a day, or as often as the operators say, and are final:
    the sum of rows is exact, and windows in a row add up.
    """
    form, window = query_word(call, "format", FORMATS), past_window(call)
    prices = use.prices_of(call.service)
    found = _found(call, window)
    if form == "focus":
        currency = currency_of(prices)
        if currency is None:
            message = (
                f"Rows of FOCUS need a currency, and the prices are in {prices.unit}: the operators say what one is "
                "worth by [billed] in the file of the prices. Ask for format=csv until then."
            )
            raise ConflictError(message, field="format")
        region = call.api.settings.region
        return Reply(as_csv(COLUMNS, (focus_row(each, prices, currency, region) for each in _billed(call, found))))
    rows = [_row(each) for each in found]
    if form == "csv":
        return Reply(as_csv(list(ChargeRow.__annotations__), rows))
    with call.service.db.reading() as connection:
        closed = charged_until(connection, CLOSED)
    shown: dict[str, Any] = {
        "from": window.start.isoformat(),
        "to": window.end.isoformat(),
        "closed_until": from_seconds(closed).isoformat() if closed else None,
        "unit": prices.unit,
        "total": _amount(sum(each.amount for each in found)),
        "rows": rows,
    }
    return Reply({"charges": shown})


class CorrectionCreation(RequestModel):
    """The body of POST /v1/charges/corrections: so much more is charged than by a charge, or less if it is below 0."""

    charge_id: Annotated[int, Field(ge=1, le=2**53)]
    amount: Difference
    reason: OptionalName


def correct_charge(call: Call, body: CorrectionCreation) -> Reply:
    """Correct a charge by a row of its own; the charge itself never changes.

    No more is given back than was charged. The budget that paid for it gets it back, or pays more.
    """
    use.prices_of(call.service)
    if not body.reason.strip():
        raise InvalidInputError("reason is empty; say why, for those who read the bill.", field="reason")
    micro = to_micro(Decimal(body.amount))
    return Reply({"charge": _row(correct(call.service, Correction(body.charge_id, micro, body.reason)))})


def _found(call: Call, window: Window) -> Sequence[Row[Any]]:
    """Return the charges that are asked for; raises InvalidInputError if there are too many."""
    start, end = window.seconds
    project, lease = reported_project(call, "charges"), call.query_id("lease_id")
    which = [charges.c.starts_at >= start, charges.c.starts_at < end]
    which += [] if project is None else [charges.c.project_id == project]
    which += [] if lease is None else [charges.c.lease_id == lease]
    with call.service.db.reading() as connection:
        found = list(each_charge(connection, which, MOST + 1))
    if len(found) > MOST:
        message = f"There are more than {MOST} charges. Ask for a shorter window, for one project_id or one lease_id."
        raise InvalidInputError(message, field="from", details={"most": MOST})
    return found


def _row(found: Row[Any]) -> ChargeRow:
    return {
        "id": found.id,
        "lease_id": found.lease_id,
        "reservation_id": found.reservation_id,
        "project_id": found.project_id,
        "user_id": found.user_id,
        "resource_type": found.resource_type,
        "kind": found.kind,
        "price_list": found.list_name,
        "from": from_seconds(found.starts_at).isoformat(),
        "to": from_seconds(found.ends_at).isoformat(),
        "units": found.units,
        "hours": found.units * (found.ends_at - found.starts_at) / HOUR,
        "price": found.price,
        "amount": _amount(found.amount),
        "booked_at": from_seconds(found.booked_at).isoformat(),
        "corrects": found.corrects,
        "reason": found.reason,
    }


def _billed(call: Call, found: Sequence[Row[Any]]) -> Iterator[Billed]:
    types = call.service.types
    for row in found:
        type_ = types.find(row.resource_type)
        pool = None if type_ is None else type_.kind.pool
        whose = (row.lease_id, row.project_id, row.user_id, row.resource_type)
        yield Billed(charge_of(row), row.amount, *whose, types.noun(row.resource_type), pool, row.reason)


def _amount(micro: int) -> str:
    return f"{from_micro(micro):f}"


_PATH: Final = "/v1/charges"
GET: Final = Rule("leasehold:charges:get", READER_OR_ADMIN, "Show what a project's leases were charged.")
CORRECT: Final = Rule("leasehold:charges:correct", ADMIN, "Correct what was charged.")
PARAMETERS: Final = {
    "format": Parameter(
        "query", "The form of the answer", {"type": "string", "enum": list(FORMATS), "default": "json"}
    ),
    "project_id": Parameter("query", "For administrators: of this project", {"type": "string"}),
    "lease_id": Parameter("query", "Of this lease", {"type": "string"}),
}
ROUTES = (
    V1_3("POST", f"{_PATH}/corrections", correct_charge, (CORRECT,), CorrectionCreation, OneCharge, CREATED),
    V1_3(
        "GET", _PATH, show, (GET,), None, SomeCharges, query=("from", "to", *PARAMETERS, *EVERY), parameters=PARAMETERS
    ),
)
