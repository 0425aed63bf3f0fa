"""The upgrade from the oldest version under load, as the guide says: nothing fails, and everything is as it was."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import inspect, text

from leasehold.db import schema
from leasehold.db.engine import writing
from tests.databases import opened
from tests.harness.database_checks import database_problems
from tests.harness.report import Report
from tests.harness.storm import SEED, wait_until_idle
from tests.harness.tables import BOOKS, SANDBOX, cloud_state, read_tables
from tests.harness.verdict import ENDING
from tests.harness.visitor import Outcome
from tests.operators.test_guide import catalogue
from tests.upgrade.estate import CROWD, WITHIN, Estate, asked, delete_all
from tests.upgrade.load import load
from tests.upgrade.oldest_version import REVISION, install_oldest_version
from tests.upgrade.shown import NEWER, check_the_same, shown
from tests.upgrade.together import check_a_purpose_stays, check_each_knows_what_the_other_wrote, check_the_manager
from tests.upgrade.versions import Version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.harness.tables import Dump, Tables
    from tests.harness.visitor import Asked

NEXT = "9001"
"""The schema of a version to come."""
OWNED = ("alarms", "feeds", "lease_templates", "subscriptions")
"""Tables whose rows go when they are deleted."""


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_oldest_version(tmp_path_factory.mktemp("oldest"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_everything_survives_the_upgrade_from_the_oldest_version(database_url: str, oldest: Path) -> None:
    old_version, version = Version(oldest, database_url), Version(None, database_url)
    assert old_version.manage("db", "upgrade") == f"The schema is {REVISION}.\n"
    old_version.manage("sandbox", "plant")
    empty_cloud = cloud_of(database_url)
    estate = Estate(database_url)
    with ExitStack() as stack:
        old, old_manager = old_version.start(stack)
        estate.make(old.url)
        before = shown(old.url, estate.others)
        with load(old.url) as clients:
            clients.go_on(old.url)
            with clients.at_work():
                assert version.manage("db", "upgrade") == f"The schema is {schema.head()}.\n"
            clients.go_on(old.url)
            check_the_same(before, shown(old.url, estate.others), estate.written)

            new, _ = version.start(stack)
            clients.go_on(old.url, new.url)
            check_each_knows_what_the_other_wrote(database_url, old.url, new.url)
            check_a_purpose_stays(old.url, new.url)
            with clients.at_work():
                assert old_manager.stop() == 0
            check_the_manager(old.url, new.url)
            clients.go_on(old.url, new.url)
            clients.go_on(new.url)
            assert old.stop() == 0

            with clients.at_work():
                expand(database_url)
            clients.go_on(new.url)
        check_the_same(before, shown(new.url, estate.others), estate.written, NEWER)
        estate.repeat(new.url)

        estate.delete(new.url)
        idle = wait_until_idle([database_url], WITHIN)
        answers = [*clients.crowd.answers, *asked(database_url)]
        assert codes(answers) <= catalogue()
        Report(SEED, answers, 0, idle, []).check(database_url)

        for noun in ("offers", "leases"):
            delete_all(new.url, noun, CROWD)
        wait_until_idle([database_url], WITHIN)
        for noun in ("floatingips", "os-hosts"):
            delete_all(new.url, noun, CROWD, "admin")
        wait_until_idle([database_url], WITHIN)
    # The new version may have made tables that nothing has used.
    assert {name: rows for name, rows in cloud_of(database_url).items() if rows or name in empty_cloud} == empty_cloud
    check_that_nothing_is_left(read_tables(database_url, [*BOOKS, *OWNED]))


def expand(database_url: str) -> None:
    """Expand each table as a migration of a version to come would, and write its revision."""
    with opened(database_url) as engine:
        names = [name for name in inspect(engine).get_table_names() if not name.startswith((SANDBOX, "alembic"))]
        for name in names:
            with writing(engine) as connection:
                connection.execute(text(f"ALTER TABLE {name} ADD COLUMN of_the_next VARCHAR(20)"))
        with writing(engine) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": NEXT})
        assert schema.check(engine) == f"The schema is {NEXT}, which is newer than this version and works with it."


def cloud_of(database_url: str) -> Dump:
    with opened(database_url) as engine:
        return cloud_state(engine)


def codes(answers: Sequence[Asked]) -> set[str]:
    """Return the codes of the errors among these answers."""
    return {each.body["code"] for each in answers if each.outcome is Outcome.REFUSED}


def check_that_nothing_is_left(tables: Tables) -> None:
    """Check that all leases are gone, and have nothing, and that nothing is to be done for them or is owned."""
    assert list(tables.leases()) == []
    assert [row for row in tables["allocations"] if row.released_at is None] == []
    assert [row for row in tables["resources"] if row.deleted_at is None] == []
    assert [row for row in tables["tasks"] if row.kind in ENDING and row.due_at is not None] == []
    assert [row for name in OWNED for row in tables[name]] == []
    assert database_problems(tables, datetime.now(UTC)) == []
