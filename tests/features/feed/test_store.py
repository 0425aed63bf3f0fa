"""Calendar feeds on each database: their rows, and whose leases are in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.feed import store as rows
from leasehold.features.feed.model import Feed, digest_of
from tests.db.examples import NOW, ident

if TYPE_CHECKING:
    from leasehold.db.store import Database


def test_a_feed_is_read_as_it_was_written(db: Database) -> None:
    first = Feed(ident(), "demo", "alice", "Größe €", own=True, digest=digest_of("x"), created_at=NOW)
    other = replace(first, id=ident(), project_id="other", created_at=NOW + timedelta(hours=1))
    for each in (other, first):
        db.transact(partial(rows.add_feed, new=each))
    with db.reading() as connection:
        assert rows.find_feed(connection, first.id) == first
        assert rows.find_feed(connection, ident()) is None
        assert rows.list_feeds(connection, "demo") == [first]
        assert rows.list_feeds(connection, None) == [first, other]
        assert rows.count_feeds(connection, "demo") == 1
    assert db.transact(partial(rows.delete_feed, ident=first.id))
    assert not db.transact(partial(rows.delete_feed, ident=first.id))
