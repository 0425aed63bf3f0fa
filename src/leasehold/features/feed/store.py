"""Calendar feeds: their rows (decision 0076)."""

from __future__ import annotations

from leasehold.db.owned import OwnedRows
from leasehold.features.feed.model import Feed
from leasehold.features.feed.tables import feeds

FEEDS = OwnedRows(feeds, Feed)
