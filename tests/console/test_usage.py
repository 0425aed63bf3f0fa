"""The page of usage: hours by day, one above the other, and who has the most idle ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert

from leasehold.cmd.state import DATABASE_NAME
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import segments
from leasehold.features.usage.store import usage_uses
from leasehold.model.resource import HOST
from leasehold.model.windows import to_seconds
from tests.console.test_capacity import DRAWN
from tests.processes import Program, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.console.browser import Browser

FORMS = [(1440, False), (390, True)]
DAYS = 12


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service in which two projects held hosts for days; one of them used a half of what it held."""
    with running("leasehold-standalone") as service:
        engine = open_engine(f"sqlite:///{service.log.parent / DATABASE_NAME}")
        with writing(engine) as connection:
            today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            for number in range(DAYS):
                begin = to_seconds(today - timedelta(days=number + 1))
                for project, hours in (("demo", 8), ("physics", 12)):
                    own = {
                        "lease_id": f"lease-{number}",
                        "reservation_id": f"part-{project}-{number}",
                        "project_id": project,
                        "user_id": "alice",
                        "resource_type": HOST,
                        "resource_number": 1,
                        "resource": "compute-1",
                        "starts_at": begin,
                    }
                    held = {**own, "slots": 1, "ends_at": begin + hours * 3600, "written_at": today}
                    connection.execute(insert(segments), held)
                    if project == "physics":
                        connection.execute(insert(usage_uses), {**own, "amount": 1, "ends_at": begin + 6 * 3600})
            connection.commit()
        engine.dispose()
        yield service


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_operators_see_all_projects_by_day_and_the_idlest_first(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "usage", width=width, dark=dark)
    browser.until(partial(says, browser, "physics"))
    browser.until(lambda: browser.script(DRAWN) > 0)
    browser.picture(f"usage-{width}-{'dark' if dark else 'light'}")
    text = browser.text()
    assert text.index("physics") < text.index("demo", text.index("The ten projects"))
    assert f"{DAYS * 12}.0" in text
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_members_see_the_users_of_their_project(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "usage")
    browser.until(partial(says, browser, "The ten users with the most idle hours"))
    assert "alice" in browser.text()
    assert "physics" not in browser.text()
    browser.role("button", "The last 7 days").click()
    browser.until(partial(says, browser, f"{7 * 8 - 8}.0"))
