"""Column types behave the same on each database."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from sqlalchemy.exc import StatementError

from leasehold.db.engine import reading, writing
from leasehold.db.tables import tasks
from leasehold.db.task import add_task
from tests.db.examples import NOW

if TYPE_CHECKING:
    from sqlalchemy import Engine

EXACTLY = NOW.replace(microsecond=123_457)


def kept(engine: Engine, moment: datetime) -> datetime:
    with writing(engine) as connection:
        add_task(connection, "lease", "a", moment)
    with reading(engine) as connection:
        found: datetime = connection.execute(select(tasks.c.due_at)).scalar_one()
        return found


def test_moments_keep_their_microseconds(engine: Engine) -> None:
    assert kept(engine, EXACTLY) == EXACTLY


def test_moments_come_back_in_utc_whatever_zone_they_came_in(engine: Engine) -> None:
    found = kept(engine, EXACTLY.astimezone(timezone(timedelta(hours=-5, minutes=-30))))
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
