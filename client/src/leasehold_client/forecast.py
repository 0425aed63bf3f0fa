"""How much will be asked for, and how much will be missing, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a step: all demand, what of it is not known yet, and how much it exceeds the capacity by."""

    demand: int
    additional: int
    shortfall: int


@dataclass(frozen=True, slots=True)
class ForecastStep:
    """The largest numbers over `[start, end)`, aware and in UTC, in whole resources.

    `shortfall` is by what is promised and waits. `median` and `high` are None where there is too little history.
    """

    start: datetime
    end: datetime
    capacity: int
    promised: int
    backlog: int
    shortfall: int
    median: Expectation | None
    high: Expectation | None


@dataclass(frozen=True, slots=True)
class Forecast(AnswerModel):
    """The steps of a window, and on how many weeks of history they rest; with fewer than `least_weeks` on none.

    `waiting_uncounted` says that more leases wait than the backlog counts. The capacity has so many more from each
    moment in `coming` on: what is planned, and not there yet.
    """

    unit: str
    weeks: int
    least_weeks: int
    high_quantile: float
    waiting_uncounted: bool
    steps: tuple[ForecastStep, ...]
    coming: tuple[tuple[datetime, int], ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Forecast:
        columns = values["steps"]
        starts = [read_time(each) for each in columns["from"]]
        ends = [*starts[1:], read_time(values["to"])]
        known = (columns[name] for name in ("capacity", "promised", "backlog", "shortfall"))
        expected = (_expected(columns, which, len(starts)) for which in ("median", "high"))
        steps = map(ForecastStep, starts, ends, *known, *expected)
        coming = tuple((read_time(each["from"]), each["amount"]) for each in values.get("coming", ()))
        return read_as(cls, values, steps=tuple(steps), coming=coming)


class Forecasts(Calls):
    """Forecasts of the demand of all projects; by default for administrators."""

    def show(
        self,
        start: datetime,
        end: datetime,
        *,
        resource_type: str | None = None,
        step: timedelta | None = None,
        weeks: int | None = None,
    ) -> Forecast:
        """Return the forecast from start to end; None is what the service takes: hosts, an hour, and eight weeks."""
        window = {"from": start, "to": end}
        query = said(resource_type=resource_type, step_seconds=step, weeks=weeks, **window)
        return Forecast.read(self._transport.get("/forecast", query)["forecast"])


def _expected(columns: Mapping[str, Any], which: str, steps: int) -> list[Expectation] | list[None]:
    found = [columns[f"{name}_{which}"] for name in ("expected", "additional", "shortfall")]
    return [None] * steps if None in found else [Expectation(*each) for each in zip(*found, strict=True)]
