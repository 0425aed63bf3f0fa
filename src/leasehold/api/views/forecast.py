"""The forecast, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leasehold.api.views.availability import show_moments
from leasehold.leasing.forecast import HIGH, LEAST_WEEKS

if TYPE_CHECKING:
    from leasehold.api.models.forecast import ForecastAnswer, ForecastSteps
    from leasehold.leasing.forecast import Counts, Forecast


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
        "steps": _steps(found),
    }


def _steps(found: Forecast) -> ForecastSteps:
    expected = found.expected
    median, high = (None, None) if expected is None else (expected.median, expected.high)
    return {
        "from": show_moments(found.grid.start + found.grid.seconds * np.arange(found.grid.steps)),
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
