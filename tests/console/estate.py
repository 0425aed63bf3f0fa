"""Leases and hosts of the service under test, asked for without the browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import requests

from tests.console.picture import rows_of

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

HOUR = timedelta(hours=1)
BIG = '[">=", "$vcpus", "64"]'
INSTANCE = {"resource_type": "virtual:instance", "affinity": None, "resource_properties": ""}


def ask(
    service: Program, method: str, path: str, body: object = None, *, project: str = "demo", role: str = "admin"
) -> Any:
    """Send a request as somebody of a project; returns the JSON of a success."""
    headers = {"X-Project-Id": project, "X-User-Id": f"{project}-user", "X-Roles": role}
    headers["OpenStack-API-Version"] = "reservation 1.3"
    answer = requests.request(method, f"{service.url}{path}", json=body, headers=headers, timeout=30)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def lease_of(
    service: Program,
    name: str,
    *,
    start: timedelta,
    hours: int,
    project: str = "demo",
    properties: str = "",
    hosts: int = 1,
    wanted: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Make a lease as a member of a project, so long after now: of whole hosts, or what is `wanted`."""
    begin = datetime.now(UTC).replace(microsecond=0) + start
    of_hosts = {
        "resource_type": "physical:host",
        "min": hosts,
        "max": hosts,
        "hypervisor_properties": "",
        "resource_properties": properties,
    }
    body = {
        "name": name,
        "start_date": begin.isoformat(),
        "duration_seconds": hours * 3600,
        "reservations": [wanted or of_hosts],
    }
    lease: dict[str, Any] = ask(service, "POST", "/leases", body, project=project, role="member")["lease"]
    return lease


def leases(service: Program) -> list[dict[str, Any]]:
    """Return the leases of the project demo."""
    found: list[dict[str, Any]] = ask(service, "GET", "/leases")["leases"]
    return found


def read(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def host(browser: Browser, name: str) -> int:
    """Return the row of a host, which operators know by name."""
    return next(int(str(row["row"])) for row in rows_of(browser) if row["name"] == name)
