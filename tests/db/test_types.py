"""Moments and texts behave the same on each database: to the microsecond in UTC, and exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select
from sqlalchemy.exc import StatementError

from leasehold.db.engine import reading, writing
from leasehold.db.idempotency import find_key, keep_key
from leasehold.db.leases.lease import find_lease
from leasehold.db.leases.listed import each_lease
from leasehold.db.resources.property import define_properties, set_privacy
from leasehold.db.resources.resource import find_resource
from leasehold.db.tables import tasks
from leasehold.db.task import add_task, hurry_task
from leasehold.db.types import UtcDateTime
from leasehold.model.resource import HOST
from tests.db.examples import NOW, enrol, hour, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database

EXACTLY = NOW.replace(microsecond=123_457)


def kept(engine: Engine, moment: datetime) -> datetime:
    with writing(engine) as connection:
        add_task(connection, "lease", "a", moment)
    with reading(engine) as connection:
        found: datetime = connection.execute(select(tasks.c.due_at)).scalar_one()
        return found


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-5, minutes=-30))])
def test_moments_keep_their_microseconds_and_come_back_in_utc(engine: Engine, zone: timezone) -> None:
    found = kept(engine, EXACTLY.astimezone(zone))
    assert (found, found.utcoffset()) == (EXACTLY, timedelta(0))


def test_a_moment_without_a_zone_is_refused(engine: Engine) -> None:
    with pytest.raises(StatementError, match="moments with a time zone"):
        kept(engine, NOW.replace(tzinfo=None))


def test_moments_are_compared_to_the_microsecond(engine: Engine) -> None:
    kept(engine, EXACTLY)
    just_before = EXACTLY - timedelta(microseconds=1)
    with reading(engine) as connection:
        assert connection.execute(select(tasks.c.id).where(tasks.c.due_at <= just_before)).all() == []
        assert len(connection.execute(select(tasks.c.id).where(tasks.c.due_at <= EXACTLY)).all()) == 1


SIMILAR = ("a1", "A1", "a1 ", " a1", "\xe11", "a\u03011", "a1\u200b", "a\u0661")
"""Texts that some collations or readers take for the same."""


def of_key(found: tuple[str, str] | None) -> list[str]:
    return [found[1]] if found else []


def names(*found: Any) -> list[str]:
    return [each.name for each in found if each]


def put_lease(connection: Connection, **values: str) -> None:
    write(connection, name=next(iter(values.values())), reservations=(), events=(), **values)


COLUMNS: dict[str, tuple[Callable[[Connection, str], object], Callable[[Connection, str], list[str]]]] = {
    "keys": (
        lambda to, text: keep_key(to, "p", text, "", text, NOW),
        lambda of, text: of_key(find_key(of, "p", text)),
    ),
    "projects of keys": (
        lambda to, text: keep_key(to, text, "k", "", text, NOW),
        lambda of, text: of_key(find_key(of, text, "k")),
    ),
    "leases": (lambda to, text: put_lease(to, id=text), lambda of, text: names(find_lease(of, text))),
    "projects": (lambda to, text: put_lease(to, project_id=text), lambda of, text: names(*each_lease(of, text))),
    "properties": (
        lambda to, text: define_properties(to, HOST, [text], NOW),
        lambda of, text: names(set_privacy(of, HOST, text, hour(1), private=True)),
    ),
    "resources": (
        enrol,
        lambda of, text: [each.id for each in (find_resource(of, HOST, text),) if each],
    ),
    "subjects of tasks": (
        lambda to, text: add_task(to, "lease", text, NOW),
        lambda of, text: [text] if hurry_task(of, "lease", text, NOW) else [],
    ),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_ids_and_names_are_exact(db: Database, column: str) -> None:
    put, found = COLUMNS[column]
    for text in SIMILAR:
        assert db.transact(lambda connection: found(connection, text)) == []  # noqa: B023 - runs at once.
        db.transact(lambda connection: put(connection, text))  # noqa: B023 - runs at once.
    assert [db.transact(lambda connection: found(connection, text)) for text in SIMILAR] == [[each] for each in SIMILAR]  # noqa: B023


def test_moments_that_are_equal_and_not_the_same_are_kept_apart(engine: Engine) -> None:
    """When clocks are set back, an hour comes twice."""
    moment = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    process = UtcDateTime().bind_processor(engine.dialect)
    assert process is not None
    found = [str(process(each))[:16] for each in (moment, moment.replace(fold=1))]
    assert found == ["2026-10-25 00:30", "2026-10-25 01:30"]
