"""Leases and questions beside the browser, as alice of the project demo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import requests

from tests.factory import hosts

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program


def ask(service: Program, path: str, method: str = "GET", body: Any = None) -> Any:
    """Send a request; returns the JSON of a success."""
    who = {"X-User-Id": "alice", "X-Project-Id": "demo", "X-Roles": "admin,member", "X-User-Name": "alice"}
    headers = who | {"OpenStack-API-Version": "reservation 1.3"}
    answer = requests.request(method, f"{service.url}/{path}", json=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def lease(service: Program, name: str, count: int = 1, *, start: float = 0, hours: float = 3) -> dict[str, Any]:
    """Make a lease of hosts; it starts `start` hours from now."""
    begin = datetime.now(UTC) + timedelta(hours=start)
    body = {
        "name": name,
        "start_date": "now" if not start else begin.isoformat(timespec="seconds"),
        "end_date": (begin + timedelta(hours=hours)).isoformat(timespec="seconds"),
        "reservations": [hosts(count, count)],
    }
    made: dict[str, Any] = ask(service, "leases", "POST", body)["lease"]
    return made


def active(browser: Browser, service: Program, made: dict[str, Any]) -> dict[str, Any]:
    """Wait until a lease is active."""

    def found() -> dict[str, Any]:
        now: dict[str, Any] = ask(service, f"leases/{made['id']}")["lease"]
        return now if now["status"] == "ACTIVE" else {}

    return browser.until(found)
