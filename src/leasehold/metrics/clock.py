"""Whether this process follows the database's clock."""

from __future__ import annotations

from prometheus_client import Gauge

HELD = Gauge(
    "leasehold_clock_held",
    "1 while this process does not follow a jump of the database's clock and counts on from before, else 0.",
    # Of the gunicorn workers, the last one that looked: a dead one's value does not stay.
    multiprocess_mode="mostrecent",
)


def clock_held(*, held: bool) -> None:
    """Note whether a jump of the database's clock is held."""
    HELD.set(int(held))
