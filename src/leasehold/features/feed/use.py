"""Calendar feeds: who makes them, and what is in them (idea 6, decision 0076)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from leasehold.db import lease as lease_rows
from leasehold.db.project import enter
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
from leasehold.model.errors import NotFoundError
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.paging import WHOLE, Part, Sort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

KEPT: Final = timedelta(days=30)
"""How long a lease that has ended stays in a feed."""
MOST: Final = 1_000
"""Leases in a feed; those that end last are in it."""
_LAST_FIRST: Final = Sort("end_date", descending=True)


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
    limit = service.settings.of(FeedSettings).feeds

    def write(connection: Connection) -> None:
        # Its feeds are counted while no other transaction of the project adds one.
        enter(connection, caller.project_id)
        if rows.count_feeds(connection, caller.project_id) >= limit:
            raise TooManyFeedsError(limit)
        rows.add_feed(connection, new)

    service.db.transact(write)
    return new, write_token(new.id, secret)


def list_feeds(service: Service, project_id: str | None, part: Part = WHOLE) -> Sequence[Feed]:
    """Return a part of the feeds of a project, or with None of all projects, oldest first."""
    with service.db.reading() as connection:
        return rows.list_feeds(connection, project_id, part)


def get_feed(service: Service, ident: str) -> Feed:
    """Return a feed; raises NotFoundError."""
    with service.db.reading() as connection:
        found = rows.find_feed(connection, ident)
    if found is None:
        raise NotFoundError("feed_id", ident)
    return found


def delete_feed(service: Service, ident: str) -> None:
    """Remove a feed, whose address then answers nobody; raises NotFoundError."""
    if not service.db.transact(lambda connection: rows.delete_feed(connection, ident)):
        raise NotFoundError("feed_id", ident)


def open_feed(service: Service, text: str) -> Feed:
    """Return the feed of a token; raises UnknownFeedError, which says nothing about why."""
    token = read_token(text)
    if token is None:
        raise UnknownFeedError
    with service.db.reading() as connection:
        found = rows.find_feed(connection, token.feed_id)
    # Also without a feed: the comparison takes the same time then.
    opens = token.opens(found)
    if found is None or not opens:
        raise UnknownFeedError
    return found


def leases_of(service: Service, feed: Feed, most: int = MOST) -> Sequence[Lease]:
    """Return what is in a feed, in the order of the starts: the leases that have not ended over 30 days ago."""
    wanted = LeaseFilter(ends_after=service.now() - KEPT, user_id=feed.user_id if feed.own else None)
    with service.db.reading() as connection:
        found = lease_rows.each_lease(connection, feed.project_id, wanted=wanted, sort=_LAST_FIRST, limit=most)
        return sorted(found, key=lambda each: (each.window.start, each.id))
