"""What a member's browser is told of others: nothing that names them, on any page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import requests

from tests.console.answers import noting
from tests.console.asking import active, lease
from tests.console.picture import wait_until_drawn
from tests.factory import hosts

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

OTHERS = {"X-User-Id": "mallory-user", "X-Project-Id": "zebra-project", "X-Roles": "member"}
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_no_answer_names_another_project(browser: Browser, service: Program) -> None:
    browser.allowed.update((403, 409))
    theirs = others(service)
    mine = active(browser, service, lease(service, "mine"))
    browser.sign_in(service)
    answers = walk(browser, service, mine["id"], zebra_id(theirs), refused="Try again")
    asked = {url.rpartition("/console/")[2].partition("?")[0] for url, _ in answers}
    assert {"v1/timeline", "v1/leases", "v1/availability", f"v1/leases/{mine['id']}/history"} <= asked
    assert told(answers, theirs) == {}


def test_the_same_walk_names_it_to_an_operator(browser: Browser, service: Program) -> None:
    """Otherwise the test above would find nothing, whatever a member is told."""
    browser.allowed.update((403, 409))
    theirs = others(service)
    mine = active(browser, service, lease(service, "mine"))
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    found = told(walk(browser, service, mine["id"], zebra_id(theirs), refused="zebra-now"), theirs)
    assert {"zebra", "cmp-"} <= found.keys()
    assert found.keys() & set(UUID.findall(theirs[0]))
    assert any(url.partition("?")[0].endswith("/v1/timeline") for url in found["zebra"])


def others(service: Program) -> list[str]:
    """Make leases of another project; returns the answers."""
    return [make(service, name, start) for name, start in (("zebra-now", "now"), ("zebra-later", "2040-01-01 10:00"))]


def told(answers: list[tuple[str, str]], theirs: list[str]) -> dict[str, list[str]]:
    """Return what answers say about the other project, each word with the addresses of those answers.

    An answer may repeat the id that its address names.
    """
    secret = {"zebra", "mallory", "cmp-"}.union(*(UUID.findall(text) for text in theirs))
    asked = zebra_id(theirs)
    found = {word: [url for url, text in answers if word in text and asked not in url] for word in secret}
    return {word: urls for word, urls in found.items() if urls}


def walk(browser: Browser, service: Program, mine: str, theirs: str, *, refused: str) -> list[tuple[str, str]]:
    """Open the pages of members; returns all answers with their addresses. `refused` is on the page of their lease."""
    with noting(browser) as answers:
        for page, says in {
            "start": "free now",
            "timeline": "",
            "timeline?as=table": "mine",
            "leases": "mine",
            "leases/new?hosts=12": "12 asked",
            f"leases/{mine}": "start lease",
            f"leases/{theirs}": refused,
            "messages": "There is no link yet.",
        }.items():
            browser.open(service, page)
            if says:
                browser.until(lambda says=says: says in browser.text())  # type: ignore[misc]
            else:
                wait_until_drawn(browser)
        return answers()


def make(service: Program, name: str, start: str) -> str:
    """Make a lease of the other project; returns its answer as text."""
    body: dict[str, Any] = {"name": name, "start_date": start, "reservations": [hosts(2, 2)]}
    body |= {"end_date": "2040-01-02 10:00"} if start != "now" else {"duration_seconds": 36_000}
    headers = {**OTHERS, "OpenStack-API-Version": "reservation 1.3"}
    answer = requests.post(f"{service.url}/leases", json=body, headers=headers, timeout=60)
    assert answer.status_code == 201, answer.text
    return answer.text


def zebra_id(theirs: list[str]) -> str:
    """Return the id of the other project's first lease."""
    return str(UUID.findall(theirs[0])[0])
