"""The sign-in over the page, and the page of one's sign-ins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import requests
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def elsewhere(service: Program) -> None:
    """Sign in once more, as another browser does."""
    acting = {"act_as": {"user": "alice", "project": "demo", "roles": ["member"]}}
    shell = {"X-Leasehold-Console": "1"}
    requests.post(f"{service.root}/console/session", json=acting, headers=shell, timeout=30).raise_for_status()


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_form_is_readable_and_leads_to_the_page_that_was_asked_for(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.service = service
    browser.open(service, "leases", width=width, dark=dark)
    browser.role("dialog", "Sign in")
    browser.picture(f"sign-in-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.type("user", "alice")
    browser.type("project", "demo")
    browser.press(Keys.ENTER)
    browser.until(lambda: not browser.roles("dialog"))
    browser.role("heading", "Leases")


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_sign_ins_are_readable_and_another_one_is_ended(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.sign_in(service)
    elsewhere(service)
    browser.open(service, "start", width=width, dark=dark)
    browser.role("link", "alice").click()
    browser.role("heading", "My sign-ins")
    before = browser.until(lambda: len(browser.roles("rowheader")))
    # The browser that one looks with comes first.
    browser.until(lambda: "this browser" in browser.roles("rowheader")[0].text)
    browser.picture(f"sign-ins-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0
    others = [row for row in browser.roles("row")[1:] if "End" in row.text and "this browser" not in row.text]
    browser.role("button", "End the sign-in", others[0]).click()
    browser.until(partial(says, browser, "The sign-in is ended."))
    browser.until(lambda: len(browser.roles("rowheader")) == before - 1)
