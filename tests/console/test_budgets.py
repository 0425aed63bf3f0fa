"""The page of budgets: members see what is left of theirs, administrators make, change and delete them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.console.asking import ask, lease
from tests.processes import Program, running
from tests.test_house import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.console.browser import Browser

FORMS = [(1440, False), (1440, True), (390, True)]
PRICES = ROOT / "etc" / "leasehold" / "prices.toml"
DATES = {"start_date": "2026-01-01 00:00", "end_date": "2099-01-01 00:00"}


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service with prices, in which two projects have budgets, of one of which something is agreed."""
    with running("leasehold-standalone", options={"price": {"file": PRICES}}) as service:
        for project, amount in (("demo", "20"), ("physics", "3000")):
            asked = {"name": f"{project} spring", "project_id": project, "amount": amount, **DATES}
            ask(service, "budgets", "POST", asked)
        yield service


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_members_see_what_is_left_of_the_budgets_of_their_project(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.sign_in(service)
    browser.open(service, "budgets", width=width, dark=dark)
    browser.until(partial(says, browser, "demo spring"))
    assert "physics" not in browser.text()
    assert not browser.roles("button", "New budget")
    assert not browser.roles("button", "Change demo spring")
    made = lease(service, "simulation", 2, start=24)
    browser.until(partial(says, browser, "11.00 EUR"))
    assert browser.find("meter").get_attribute("value") == "0.45"
    browser.open(service, f"leases/{made['id']}", width=width, dark=dark)
    # A longer lease would cost too much.
    browser.allowed.add(403)
    browser.until(partial(says, browser, "9.00 EUR, 0.00 EUR so far"))
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.open(service, "budgets")
    browser.until(partial(says, browser, "demo spring"))
    ask(service, f"leases/{made['id']}", "DELETE")


def test_a_new_lease_and_what_is_offered_instead_say_what_they_cost(browser: Browser, service: Program) -> None:
    browser.allowed.add(409)
    browser.sign_in(service)
    browser.open(service, "leases/new?hosts=2")
    browser.until(partial(says, browser, "This would be granted. It costs 9.00 EUR."))
    browser.type("count-0", "40")
    browser.until(lambda: browser.role("button", "hosts instead").text.endswith(" EUR"))
    browser.picture("offers-with-costs")
    assert browser.serious() == []


def test_a_lease_at_the_edge_of_its_budget_is_extended_after_a_top_up(browser: Browser, service: Program) -> None:
    made = lease(service, "simulation", 2, start=24)
    browser.sign_in(service)
    browser.open(service, f"leases/{made['id']}")
    browser.allowed.add(403)
    browser.until(partial(says, browser, "Not later than"))
    assert "the budget 'demo spring' of the project has 11.00 EUR left" in browser.text()
    # 11 EUR pay for three hours and 40 minutes more of two hosts.
    longest = datetime.fromisoformat(made["end_date"]).replace(tzinfo=UTC) + timedelta(hours=3, minutes=40)
    assert f"until {longest:%-d %b %Y, %H:%M}, the most that fits" in browser.text()
    (spring,) = ask(service, "budgets")["budgets"]
    ask(service, f"budgets/{spring['id']}", "PUT", {"amount": "5000"})
    browser.open(service, "budgets")
    browser.until(partial(says, browser, "4991.00 EUR"))
    browser.open(service, f"leases/{made['id']}")
    browser.until(partial(says, browser, "9.00 EUR, 0.00 EUR so far"))
    browser.until(lambda: "Not later than" not in browser.text())
    browser.role("button", "+ 1 d").click()
    browser.until(partial(says, browser, "81.00 EUR, 0.00 EUR so far"))
    browser.open(service, "budgets")
    browser.until(partial(says, browser, "4919.00 EUR"))
    ask(service, f"budgets/{spring['id']}", "PUT", {"amount": "20"})
    ask(service, f"leases/{made['id']}", "DELETE")


def test_administrators_make_change_and_delete_budgets_of_all_projects(browser: Browser, service: Program) -> None:
    made = lease(service, "simulation", 2, start=24)
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, "budgets")
    browser.until(partial(says, browser, "physics spring"))
    browser.picture("budgets-1440-light")
    browser.role("button", "New budget").click()
    browser.type("name", "course")
    browser.type("project", "teaching")
    browser.role("button", "Make the budget", browser.role("dialog")).click()
    browser.until(partial(says, browser, "A budget has a name, a project and an amount"))
    browser.allowed.add(400)
    browser.type("amount", "many")
    browser.role("button", "Make the budget", browser.role("dialog")).click()
    browser.until(partial(says, browser, "is no amount"))
    browser.type("amount", "12.50")
    assert "--for-project teaching --amount 12.50" in str(browser.role("dialog").get_attribute("textContent"))
    assert browser.serious() == []
    browser.role("button", "Make the budget", browser.role("dialog")).click()
    browser.until(lambda: not browser.roles("dialog"))
    browser.until(partial(says, browser, "12.50 EUR"))
    browser.role("button", "Change course").click()
    browser.type("amount", "20")
    browser.find("#field-policy option[value=end]").click()
    browser.role("button", "Save", browser.role("dialog")).click()
    browser.until(partial(says, browser, "end after a notice"))
    browser.until(partial(says, browser, "20.00 EUR"))
    (course,) = (each for each in ask(service, "budgets?all_projects=true")["budgets"] if each["name"] == "course")
    assert (course["amount"], course["at_end"], course["project_id"]) == ("20.000000", "end", "teaching")
    browser.role("button", "Delete course").click()
    browser.role("button", "Delete", browser.role("dialog")).click()
    browser.until(lambda: not browser.roles("button", "Change course"))
    ask(service, f"leases/{made['id']}", "DELETE")
