"""The forecast of demand, from 1.3 on (feature G10)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.views.forecast import show_forecast
from leasehold.leasing.forecast import (
    HOUR,
    LEAST_WEEKS,
    MOST_WEEKS,
    USUAL_WEEKS,
    WEEK,
    Question,
    forecast,
)
from leasehold.model.resource import HOST
from leasehold.model.windows import moved

if TYPE_CHECKING:
    from leasehold.api.call import Call

QUERY: Final = ("resource_type", "from", "to", "step_seconds", "weeks")
USUAL: Final = timedelta(days=7)
"""The length of the window if none is asked for."""


def show(call: Call) -> Reply:
    """Show how many resources will be asked for in each step of a window, and how many will be missing.

    `resource_type` is `physical:host` if it is absent, `from` is now, as is any earlier date, and `to` a week later.
    Steps last `step_seconds`, by default an hour: whole hours of which a week has a whole number. They begin at
    multiples of their length since 1970 in UTC, so the first and the last may exceed the window. What is expected of a
    step are median and high quantile of the same steps in past weeks: `weeks` of them, by default 8.
    """
    now = call.service.now()
    asked_start, asked_end = (
        dates.parse_optional(call.query(key), version=call.version, now=now, field=key) for key in ("from", "to")
    )
    start = now if asked_start is None else max(asked_start, now)
    end = moved(start, USUAL) or start if asked_end is None else asked_end
    step = call.query_number("step_seconds", HOUR, WEEK) or HOUR
    weeks = call.query_number("weeks", LEAST_WEEKS, MOST_WEEKS) or USUAL_WEEKS
    question = Question(call.query("resource_type") or HOST, start, end, step, weeks)
    return Reply({"forecast": show_forecast(forecast(call.service, call.api.refusals, question))})
