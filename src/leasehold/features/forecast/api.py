"""The forecast of demand, from 1.3 on (feature G10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from typing_extensions import TypedDict

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.models.base import answer
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.route import V1_3, Parameter
from leasehold.api.spans import USUAL
from leasehold.features.forecast.use import (
    HIGH,
    HOUR,
    LEAST_WEEKS,
    MOST_WEEKS,
    USUAL_WEEKS,
    WEEK,
    ForecastQuestion,
    forecast,
)
from leasehold.model.resource import HOST
from leasehold.model.windows import moved

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.forecast.use import Counts, Forecast

ForecastSteps = TypedDict(
    "ForecastSteps",
    {
        "from": list[str],
        "capacity": list[int],
        "promised": list[int],
        "backlog": list[int],
        "shortfall": list[int],
        "expected_median": list[int] | None,
        "expected_high": list[int] | None,
        "additional_median": list[int] | None,
        "additional_high": list[int] | None,
        "shortfall_median": list[int] | None,
        "shortfall_high": list[int] | None,
    },
)
ForecastSteps.__doc__ = """The steps in columns of equal length: whole resources, each number the largest of its step.

`promised` is in the book, and `backlog` is what waiting leases ask for. `expected` is the whole demand that past weeks
let one expect: what was held and what was refused. `additional` is what is expected beyond promised and backlog.
`shortfall` is how many more resources than `capacity` are needed, by what is promised and waits, or by what is expected
if that is more. Columns about expectations are null where there is too little history.
"""

Coming = TypedDict("Coming", {"from": str, "amount": int})
Coming.__doc__ = "So many resources that are not there yet and count in the capacity from a moment on."

ForecastAnswer = TypedDict(
    "ForecastAnswer",
    {
        "resource_type": str,
        "unit": str,
        "from": str,
        "to": str,
        "step_seconds": int,
        "weeks": int,
        "least_weeks": int,
        "high_quantile": float,
        "waiting_uncounted": bool,
        "coming": list[Coming],
        "steps": ForecastSteps,
    },
)
ForecastAnswer.__doc__ = """How much will be asked for, and how much is missing then.

`weeks` is how many weeks of history there are, of those asked for; with fewer than `least_weeks` nothing is expected.
`waiting_uncounted` says that more leases wait than the backlog counts. `coming` are the planned resources of the
window, by the date from which on the capacity has them.
"""


OneForecast = answer("OneForecast", "The answer about a forecast.", forecast=ForecastAnswer)


_PATH: Final = "/v1/forecast"
GET: Final = Rule(
    "leasehold:forecast:get", ADMIN, "Show how much all projects will ask for, and how much will be missing."
)


def show(call: Call) -> Reply:
    """Show how many resources will be asked for in each step of a window, and how many will be missing.

    `resource_type` is `physical:host` if it is absent, `from` is now, as is any earlier date, and `to` a week later.
    Steps last `step_seconds`, by default an hour: whole hours of which a week has a whole number. They begin at
    multiples of their length since 1970 in UTC, so the first and the last may exceed the window. What is expected of a
    step are median and high quantile of the same steps in past weeks: `weeks` of them, by default 8.
    """
    now = call.service.now()
    asked_start, asked_end = call.query_date("from", now), call.query_date("to", now)
    start = now if asked_start is None else max(asked_start, now)
    end = moved(start, USUAL) or start if asked_end is None else asked_end
    step = call.query_number("step_seconds", HOUR, WEEK) or HOUR
    weeks = call.query_number("weeks", LEAST_WEEKS, MOST_WEEKS) or USUAL_WEEKS
    question = ForecastQuestion(call.query("resource_type") or HOST, start, end, step, weeks)
    return Reply({"forecast": show_forecast(forecast(call.service, call.api.refusals, question))})


def show_forecast(found: Forecast) -> ForecastAnswer:
    """Return a forecast; times are in ISO 8601 with the zone, to the second."""
    return {
        "resource_type": found.resource_type,
        "unit": found.noun,
        "from": found.window.start.isoformat(),
        "to": found.window.end.isoformat(),
        "step_seconds": found.grid.seconds,
        "weeks": found.weeks,
        "least_weeks": LEAST_WEEKS,
        "high_quantile": HIGH,
        "waiting_uncounted": found.uncounted,
        "coming": [{"from": at.isoformat(), "amount": many} for at, many in found.coming],
        "steps": _steps(found),
    }


def _steps(found: Forecast) -> ForecastSteps:
    expected = found.expected
    median, high = (None, None) if expected is None else (expected.median, expected.high)
    return {
        "from": dates.show_moments(found.grid.start + found.grid.seconds * np.arange(found.grid.steps)),
        "capacity": found.capacity.tolist(),
        "promised": found.promised.tolist(),
        "backlog": found.backlog.tolist(),
        "shortfall": found.shortfall().tolist(),
        "expected_median": _column(median),
        "expected_high": _column(high),
        "additional_median": _column(None if median is None else found.additional(median)),
        "additional_high": _column(None if high is None else found.additional(high)),
        "shortfall_median": _column(None if median is None else found.shortfall(median)),
        "shortfall_high": _column(None if high is None else found.shortfall(high)),
    }


def _column(counts: Counts | None) -> list[int] | None:
    if counts is None:
        return None
    column: list[int] = counts.tolist()
    return column


_STEP = "The length of a step: whole hours of which a week has a whole number"
_WEEKS = "At most so many past weeks are looked at"
PARAMETERS = {
    "step_seconds": Parameter("query", _STEP, {"type": "integer", "minimum": HOUR, "maximum": WEEK, "default": HOUR}),
    "weeks": Parameter(
        "query", _WEEKS, {"type": "integer", "minimum": LEAST_WEEKS, "maximum": MOST_WEEKS, "default": USUAL_WEEKS}
    ),
}
ROUTES = (
    V1_3(
        "GET",
        _PATH,
        show,
        (GET,),
        None,
        OneForecast,
        query=("resource_type", "from", "to", *PARAMETERS),
        parameters=PARAMETERS,
    ),
)
