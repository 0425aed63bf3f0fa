"""Prices, and budgets: how much the leases of a project, or of a member of it, may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Price:
    """What is paid for resources of a type with these properties, by the list of this name; amounts as they are shown.

    `hour` is for all of a resource or for one slot, `vcpu_hour` and `memory_gib_hour` for what a slot has; `flat` is
    paid once; `given_up` is the share for time that is given up, and `filler` that for what a filler has.
    """

    list_name: str
    unit: str
    resource_type: str
    properties: str
    hour: str
    vcpu_hour: str
    memory_gib_hour: str
    flat: str
    given_up: str
    filler: str


class Prices(Calls):
    """What resources cost."""

    def list(self) -> Sequence[Price]:
        """Return the prices that are valid now or later, in the order in which they are looked at."""
        answer = self._transport.get("/prices")
        return [
            Price(
                list_name=one["name"],
                unit=answer["unit"],
                **{name: rule[name] for name in ("resource_type", "properties", "hour", "vcpu_hour")},
                **{name: rule[name] for name in ("memory_gib_hour", "flat", "given_up")},
                filler=rule.get("filler", "0"),
            )
            for one in answer["price_lists"]
            for rule in one["rules"]
        ]


AT_END = ("run", "warn", "end")
"""Leases that go on when a budget ends run on, or their owners are told, or they are ended after a notice."""


@dataclass(frozen=True, slots=True)
class Budget(AnswerModel):
    """A budget over `[start, end)`; `user_id` is None for that of a whole project. Amounts are texts, in its unit."""

    id: str
    name: str
    project_id: str
    user_id: str | None
    unit: str
    amount: str
    encumbered: str
    charged: str
    left: str
    at_end: str
    start: datetime
    end: datetime
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Budget:
        return read_as(cls, values, start=read_time(values["start_date"]), end=read_time(values["end_date"]))


class Budgets(OwnCollection[Budget]):
    """The budgets of the caller's project; by default administrators make them, for any project."""

    PATH, ONE, MANY, NOUN = "/budgets", "budget", "budgets", "budget"
    THING = Budget

    def create(
        self,
        name: str,
        project_id: str,
        amount: str,
        start: datetime,
        end: datetime,
        user_id: str | None = None,
        at_end: str | None = None,
    ) -> Budget:
        """Let the leases of a project, or of a member of it, cost so much between two dates, and no more.

        `at_end` is one of `AT_END`: what becomes of leases that go on then; None: what the operators have configured.
        """
        dates = {"start_date": start, "end_date": end}
        return self._create(
            said(name=name, project_id=project_id, user_id=user_id, amount=amount, at_end=at_end, **dates)
        )

    def change(
        self, ident: str, *, name: str | None, amount: str | None, end: datetime | None, at_end: str | None = None
    ) -> Budget:
        """Give it another name, amount or end, or `at_end`; what is None stays."""
        return self._change(ident, said(name=name, amount=amount, end_date=end, at_end=at_end))
