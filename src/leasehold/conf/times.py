"""Upper bounds for options that are durations, so that no calculation with them leaves the range of dates."""

from __future__ import annotations

from typing import Final

YEAR: Final = 366 * 24 * 3600
"""Most seconds of a duration that is added to or subtracted from a date: the calendar goes on for 8,000 years."""
MOST: Final = 10**11
"""Most seconds of a duration that dates are only compared with: some 3,000 years, which is as good as no limit."""
