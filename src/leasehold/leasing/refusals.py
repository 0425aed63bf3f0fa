"""Counts of refused requests: a refusal writes nothing itself, so it stays as quick as before (decision 0105)."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from leasehold.db.refusal import add_refusals
from leasehold.leasing.tally import PAUSE_SECONDS, Tally
from leasehold.metrics.decision import UNCOUNTED

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.db.store import Database
    from leasehold.model.refused import Refused


class RefusalCounts(Tally["tuple[datetime, Refused]"]):
    """The counts of this process, by hour and reason."""

    def __init__(self, db: Database, pause: float | None = None) -> None:
        """Keep counts for `pause` seconds, or until they are read."""
        super().__init__(db, add_refusals, UNCOUNTED.inc, pause)

    def note(self, now: datetime, refused: Refused) -> None:
        """Count a refusal."""
        self.count({(now.replace(minute=0, second=0, microsecond=0), refused): 1})


def counted_until_exit(db: Database) -> RefusalCounts:
    """Return the counts of a program, which writes them after a pause, and what is left of them when it ends."""
    counts = RefusalCounts(db, PAUSE_SECONDS)
    atexit.register(counts.write)
    return counts
