"""How long a time may be that an option says: one that no calendar holds would be an error in the middle of work."""

from __future__ import annotations

from typing import Final

YEAR: Final = 366 * 24 * 3600
"""The most seconds of what is added to a date, or taken from it: the calendar goes on for 8,000 years."""
MOST: Final = 10**11
"""The most seconds of what dates are only compared with: some 3,000 years, which is as good as no limit."""
