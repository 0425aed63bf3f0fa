"""Calendar feeds: who makes them, and what is in them (idea 6, decision 0076)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from leasehold.db.leases import listed
from leasehold.features.feed import store as rows
from leasehold.features.feed.model import (
    Feed,
    TooManyFeedsError,
    UnknownFeedError,
    digest_of,
    new_secret,
    read_token,
    write_token,
)
from leasehold.features.feed.options import FeedSettings
from leasehold.leasing.owned import OwnedItems
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.paging import Sort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

KEPT: Final = timedelta(days=30)
"""How long a lease that has ended stays in a feed."""
MOST: Final = 1_000
"""Leases in a feed; those that end last are in it."""
_LAST_FIRST: Final = Sort("end_date", descending=True)
FEEDS = OwnedItems(rows.FEEDS, "feed_id", lambda service: service.settings.of(FeedSettings).feeds, TooManyFeedsError)


def make_feed(service: Service, caller: Caller, name: str, *, own: bool) -> tuple[Feed, str]:
    """Write a feed of the caller's project, or of the caller's own leases in it; return it with its token.

    Raises TooManyFeedsError. The token cannot be had again.
    """
    secret = new_secret()
    new = Feed(
        id=str(uuid4()),
        project_id=caller.project_id,
        user_id=caller.user_id,
        name=name,
        own=own,
        digest=digest_of(secret),
        created_at=service.now(),
    )
    FEEDS.add(service, new)
    return new, write_token(new.id, secret)


def open_feed(service: Service, text: str) -> Feed:
    """Return the feed of a token; raises UnknownFeedError, which says nothing about why."""
    token = read_token(text)
    if token is None:
        raise UnknownFeedError
    with service.db.reading() as connection:
        found = rows.FEEDS.find(connection, token.feed_id)
    # Also without a feed: the comparison takes the same time then.
    opens = token.opens(found)
    if found is None or not opens:
        raise UnknownFeedError
    return found


def leases_of(service: Service, feed: Feed, most: int = MOST) -> Sequence[Lease]:
    """Return what is in a feed, in the order of the starts: the leases that have not ended over 30 days ago."""
    wanted = LeaseFilter(ends_after=service.now() - KEPT, user_id=feed.user_id if feed.own else None)
    with service.db.reading() as connection:
        found = listed.each_lease(connection, feed.project_id, wanted=wanted, sort=_LAST_FIRST, limit=most)
        return sorted(found, key=lambda each: (each.window.start, each.id))
