"""The format of a forecast, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict

from leasehold.api.models.base import answer

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
        "steps": ForecastSteps,
    },
)
ForecastAnswer.__doc__ = """How much will be asked for, and how much is missing then.

`weeks` is how many weeks of history there are, of those asked for; with fewer than `least_weeks` nothing is expected.
`waiting_uncounted` says that more leases wait than the backlog counts.
"""


OneForecast = answer("OneForecast", "The answer about a forecast.", forecast=ForecastAnswer)
