"""The pause before work that failed is tried again."""

from __future__ import annotations

from datetime import timedelta

MOST_DOUBLINGS = 20
"""More failures than this do not lengthen the pause: the power would outgrow a float."""

REFUSALS_TO_SHOW = 4
"""After this many refusals in a row the lease shows ERROR; a refusal that fewer retries overcome is not shown."""
REFUSED_GROWTH = 4
"""The factor by which each refusal lengthens the pause: a refusal passes within seconds, or needs an operator."""


def pause_after(failures: int, *, first: float, most: float, growth: int = 2) -> timedelta:
    """Return the pause after so many failures in a row: `first` seconds, then `growth` times longer, up to `most`."""
    return timedelta(seconds=min(first * growth ** min(failures - 1, MOST_DOUBLINGS), most))
