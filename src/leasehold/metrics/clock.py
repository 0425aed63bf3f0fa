"""A gauge that says whether this process follows the database's clock."""

from __future__ import annotations

from prometheus_client import Gauge

HELD = Gauge(
    "leasehold_clock_held",
    "1 while this process ignores a jump of the database's clock and counts on from before, else 0.",
    # The value of the gunicorn worker that set it last, so that the value of a dead worker does not stay.
    multiprocess_mode="mostrecent",
)


def clock_held(*, held: bool) -> None:
    """Note whether this process ignores a jump of the database's clock."""
    HELD.set(int(held))
