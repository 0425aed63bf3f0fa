"""The page of calendar links and messages: links are made and revoked, messages are listed and ended."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import requests
from selenium.webdriver.common.keys import Keys

from tests.console.asking import ask, lease
from tests.processes import Program, running
from tests.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.console.browser import Browser

FORMS = [(1440, False), (1440, True), (390, False), (390, True)]


@pytest.fixture(scope="module")
def one_service() -> Iterator[Program]:
    """Yield a service that delivers to this machine."""
    options: dict[str, dict[str, object]] = {
        "delivery": {"http": True, "allowed_networks": "127.0.0.0/8", "retry_first_seconds": 0.05}
    }
    with running("leasehold-standalone", options=options) as service:
        yield service


@pytest.fixture(autouse=True)
def clean(service: Program) -> Iterator[None]:
    """Remove what a test made."""
    yield
    for name, key in (("feeds", "feeds"), ("subscriptions", "subscriptions")):
        for each in ask(service, name)[key]:
            ask(service, f"{name}/{each['id']}", "DELETE")


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def test_a_link_is_made_by_the_keyboard_read_without_signing_in_and_revoked(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    lease(service, "in the calendar", start=3)
    browser.open(service, "sign-ins")
    browser.role("link", "Calendar links and messages").click()
    browser.until(partial(says, browser, "There is no link yet."))
    browser.type("feed", "my phone")
    browser.press(Keys.ENTER)
    address = browser.find("code.address").text
    assert "in the calendar" in requests.get(address, timeout=30).text
    assert ask(service, "feeds")["feeds"][0]["own"] is True
    browser.driver.refresh()
    browser.until(partial(says, browser, "my phone"))
    assert address not in browser.text()
    browser.role("button", "Revoke my phone").click()
    dialog = browser.role("dialog")
    assert "leasehold feed delete" in str(dialog.get_attribute("textContent"))
    browser.press(Keys.ESCAPE)
    browser.until(lambda: not browser.roles("dialog"))
    assert requests.get(address, timeout=30).ok
    browser.role("button", "Revoke my phone").click()
    browser.role("button", "Revoke", browser.role("dialog")).click()
    browser.until(partial(says, browser, "my phone is revoked."))
    browser.until(partial(says, browser, "There is no link yet."))
    assert requests.get(address, timeout=30).status_code == 404


def test_a_link_to_the_leases_of_the_project_shows_those_of_others_too(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="bob")
    lease(service, "made by alice", start=3)
    browser.open(service, "messages")
    browser.find("#field-whose").send_keys("the leases")
    browser.role("button", "Make a link").click()
    assert "made by alice" in requests.get(browser.find("code.address").text, timeout=30).text


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_messages_that_fail_say_why_and_can_be_ended(
    browser: Browser, service: Program, width: int, *, dark: bool
) -> None:
    browser.sign_in(service)
    with receiving() as receiver:
        receiver.answer = lambda _: 503
        body = {"target": receiver.url, "event_types": ["lease.create", "lease.update"]}
        made = ask(service, "subscriptions", "POST", body)["subscription"]
        receiver.secret = made["secret"]
        ask(service, "feeds", "POST", {"name": "the team's calendar"})
        browser.open(service, "messages", width=width, dark=dark)
        browser.until(partial(says, browser, "delivers"))
        lease(service, "told of", start=5)
        browser.until(lambda: ask(service, f"subscriptions/{made['id']}")["subscription"]["status"] == "failing")
        browser.open(service, "messages", width=width, dark=dark)
        browser.until(partial(says, browser, "fails"))
        browser.until(partial(says, browser, "503"))
        browser.until(partial(says, browser, "the team's calendar"))
        browser.picture(f"messages-{width}-{'dark' if dark else 'light'}")
        assert browser.serious() == []
        assert browser.overflow() == 0
        browser.role("button", f"Remove the messages to {receiver.url}").click()
        browser.role("button", "Remove", browser.role("dialog")).click()
        browser.until(partial(says, browser, "No messages are sent."))
    assert ask(service, "subscriptions")["subscriptions"] == []


def test_a_reader_sees_them_and_changes_nothing(browser: Browser, service: Program) -> None:
    ask(service, "feeds", "POST", {"name": "theirs"})
    browser.sign_in(service, user="rita", roles=("reader",))
    browser.open(service, "messages")
    browser.until(partial(says, browser, "theirs"))
    assert not browser.roles("button", "Revoke")
    assert not browser.roles("button", "Make a link")
