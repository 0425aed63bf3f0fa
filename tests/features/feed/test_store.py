"""Calendar feeds on each database: their rows, and whose leases are in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.feed.model import Feed, digest_of
from leasehold.features.feed.store import FEEDS
from tests.db.examples import NOW, ident

if TYPE_CHECKING:
    from leasehold.db.store import Database


def test_a_feed_is_read_as_it_was_written(db: Database) -> None:
    first = Feed(ident(), "demo", "alice", "Größe €", own=True, digest=digest_of("x"), created_at=NOW)
    other = replace(first, id=ident(), project_id="other", created_at=NOW + timedelta(hours=1))
    for each in (other, first):
        db.transact(partial(FEEDS.add, new=each))
    with db.reading() as connection:
        assert FEEDS.find(connection, first.id) == first
        assert FEEDS.find(connection, ident()) is None
        assert FEEDS.page(connection, "demo") == [first]
        assert FEEDS.page(connection, None) == [first, other]
        assert FEEDS.count(connection, "demo") == 1
    assert db.transact(partial(FEEDS.remove, ident=first.id))
    assert not db.transact(partial(FEEDS.remove, ident=first.id))
