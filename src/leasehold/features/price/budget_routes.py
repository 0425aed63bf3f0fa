"""Budgets in the API, from 1.3 on: administrators make them, and everybody sees those of their project."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.api.models.lease import Date  # noqa: TC001 - read at run time
from leasehold.api.models.name import Name  # noqa: TC001 - read at run time
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_3, Noun
from leasehold.api.views.shown import shown
from leasehold.features.price import use
from leasehold.features.price.amounts import Amount  # noqa: TC001 - read at run time
from leasehold.features.price.budget import AtEnd, from_micro, to_micro

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.price.budget import Budget

Ident = Annotated[str, Field(min_length=1, max_length=255)]
POLICIES = [each.value for each in AtEnd]
Policy = Annotated[str, AfterValidator(one_of(POLICIES)), WithJsonSchema({"type": "string", "enum": POLICIES})]


class BudgetCreation(RequestModel):
    """The body of POST /v1/budgets: so much may be agreed for a time, by a project or by one member of it.

    `at_end` says what becomes of leases that go on when it ends; without it that is as it is configured.
    """

    project_id: Ident
    user_id: Ident | None = None
    name: Name
    amount: Amount
    start_date: Date
    end_date: Date
    at_end: Policy | None = None


class BudgetAmendment(RequestModel):
    """The body of PUT /v1/budgets/{budget_id}: what is absent stays."""

    name: Name | None = None
    amount: Amount | None = None
    end_date: str | None = None
    at_end: Policy | None = None


class BudgetAnswer(TypedDict):
    """A budget, in a `unit`: `encumbered` is what is agreed of it, `charged` the part of that for time that has passed.

    `user_id` is null for that of a whole project. Amounts are decimals as text.
    """

    id: str
    project_id: str
    user_id: str | None
    name: str
    unit: str
    amount: str
    encumbered: str
    charged: str
    left: str
    start_date: str
    end_date: str
    at_end: str
    created_at: str


OneBudget = answer("OneBudget", "The answer about one budget.", budget=BudgetAnswer)
BudgetList = answer("BudgetList", "The answer about budgets.", budgets=list[BudgetAnswer])
LISTED = ListKeys(texts=("name",), sorts=("created_at", "name"))


def list_budgets(call: Call) -> Reply:
    """Show the budgets of the caller's project; an administrator may ask for those of `all_projects`."""
    found = use.ALL.page(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"budgets": [_show(call, each) for each in found]})


def create(call: Call, body: BudgetCreation) -> Reply:
    """Make a budget; what is agreed already for its time is taken from it, and nothing is taken away.

    From then on what costs more than is left of it is refused, and so is what costs something beside the budgets that
    there are for the project, or for the member.
    """
    now = call.service.now()
    start, end = (
        dates.parse(text, version=call.version, now=now, field=field)
        for text, field in ((body.start_date, "start_date"), (body.end_date, "end_date"))
    )
    draft = use.BudgetDraft(
        body.project_id, body.user_id or "", body.name, to_micro(Decimal(body.amount)), start, end, body.at_end
    )
    return Reply({"budget": _show(call, use.make_budget(call.service, draft))})


def show(call: Call, budget: Budget) -> Reply:
    """Show one budget."""
    return Reply({"budget": _show(call, budget)})


def amend(call: Call, body: BudgetAmendment, budget: Budget) -> Reply:
    """Give a budget another name, amount or end, or say anew what becomes of leases that go on then."""
    amount = None if body.amount is None else to_micro(Decimal(body.amount))
    changes = use.BudgetChanges(body.name, amount, call.date(body.end_date, "end_date"), body.at_end)
    return Reply({"budget": _show(call, use.amend_budget(call.service, budget.id, changes))})


def delete(call: Call, budget: Budget) -> Reply:
    """Delete a budget: what is agreed stays, and what it paid for costs nothing that is counted any more."""
    use.delete_budget(call.service, budget)
    return Reply()


def _show(call: Call, found: Budget) -> BudgetAnswer:
    unit = use.prices_of(call.service).unit
    amounts = {"amount": found.amount, "encumbered": found.encumbered, "left": found.left}
    amounts["charged"] = use.charged(call.service, found)
    texts = {name: f"{from_micro(value):f}" for name, value in amounts.items()}
    return shown(
        BudgetAnswer,
        found,
        **texts,
        unit=unit,
        user_id=found.user_id or None,
        start_date=found.starts_at,
        end_date=found.ends_at,
    )


_BUDGET = Noun("budget_id", "budget", use.ALL.get)
_ALL, _ONE = "/v1/budgets", "/v1/budgets/{budget_id}"
GET = Rule(
    "leasehold:budgets:get",
    READER_OR_ADMIN,
    "Show budgets of a project; only administrators list those of all projects.",
)
POST = Rule("leasehold:budgets:post", ADMIN, "Make a budget.")
PUT = Rule("leasehold:budgets:put", ADMIN, "Amend a budget.")
DELETE = Rule("leasehold:budgets:delete", ADMIN, "Delete a budget.")
ROUTES = (
    V1_3("GET", _ALL, list_budgets, (GET,), None, BudgetList, query=EVERY, filters=LISTED.query),
    V1_3("POST", _ALL, create, (POST,), BudgetCreation, OneBudget, CREATED),
    V1_3("GET", _ONE, show, (GET,), None, OneBudget, noun=_BUDGET),
    V1_3("PUT", _ONE, amend, (PUT,), BudgetAmendment, OneBudget, noun=_BUDGET),
    V1_3("DELETE", _ONE, delete, (DELETE,), success=GONE, noun=_BUDGET),
)
