"""Calendar feeds: their rows (decision 0076)."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select

from leasehold.db.paging import Listed, of_project
from leasehold.features.feed.model import Feed
from leasehold.features.feed.tables import feeds
from leasehold.model.paging import WHOLE, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

_NAMES = tuple(each.name for each in fields(Feed))
_LISTED = Listed(feeds)


def add_feed(connection: Connection, new: Feed) -> None:
    """Write a feed."""
    connection.execute(insert(feeds), asdict(new))


def count_feeds(connection: Connection, project_id: str) -> int:
    """Return how many feeds a project has."""
    query = select(func.count()).select_from(feeds).where(feeds.c.project_id == project_id)
    return connection.execute(query).scalar_one()


def list_feeds(connection: Connection, project_id: str | None, part: Part = WHOLE) -> Sequence[Feed]:
    """Return a part of the feeds of a project, or with None of all projects, oldest first."""
    return list(map(_feed, _LISTED.rows(connection, part, *of_project(feeds, project_id))))


def find_feed(connection: Connection, ident: str) -> Feed | None:
    """Return a feed, or None."""
    row = connection.execute(select(feeds).where(feeds.c.id == ident)).first()
    return None if row is None else _feed(row)


def delete_feed(connection: Connection, ident: str) -> bool:
    """Remove a feed; say whether it was there."""
    return connection.execute(delete(feeds).where(feeds.c.id == ident)).rowcount == 1


def _feed(row: Row[Any]) -> Feed:
    return Feed(**{name: row._mapping[name] for name in _NAMES})  # noqa: SLF001 - SQLAlchemy's public name for it.
