"""As how long a lease without an end counts (feature A14, decision 0074)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.windows import Window

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.model.lease import Lease


def counted(lease: Lease, longest: timedelta, now: datetime) -> Window:
    """Return the window that limits of time count: one without an end lasts for the `longest` from now or its start."""
    window = lease.counted_window
    return Window(window.start, max(window.start, now) + longest) if lease.open_ended else window
