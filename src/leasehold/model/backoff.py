"""The pause before work that failed is tried again."""

from __future__ import annotations

from datetime import timedelta

MOST_DOUBLINGS = 20
"""More failures than this do not lengthen the pause: the power would outgrow a float."""


def pause_after(failures: int, *, first: float, most: float, growth: int = 2) -> timedelta:
    """Return the pause after so many failures in a row: `first` seconds, then `growth` times longer, up to `most`."""
    return timedelta(seconds=min(first * growth ** min(failures - 1, MOST_DOUBLINGS), most))
