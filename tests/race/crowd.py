"""Clients in threads that all wait for the same moment, each with a connection of its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.race.conftest import Site

CLIENTS = 64
ANSWERED_WITHIN = 90.0
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and what came of it. `name` is that of the lease to be, or the id of the one there is."""

    method: str
    name: str
    status: int
    body: Any


class Visitor:
    """One client of the crowd."""

    def __init__(self, number: int, session: requests.Session, url: str) -> None:
        """Speak to one process only, as through a connection that a load balancer made."""
        self.number = number
        self._session = session
        self._url = url

    def create(self, body: Mapping[str, Any], **headers: str) -> Asked:
        return self._ask("POST", "", body["name"], body, headers)

    def amend(self, lease_id: str, body: Mapping[str, Any]) -> Asked:
        return self._ask("PUT", f"/{lease_id}", lease_id, body, {})

    def delete(self, lease_id: str) -> Asked:
        return self._ask("DELETE", f"/{lease_id}", lease_id, None, {})

    def _ask(self, method: str, path: str, name: str, body: Any, headers: Mapping[str, str]) -> Asked:
        answer = self._session.request(
            method,
            f"{self._url}/leases{path}",
            json=body,
            headers={"OpenStack-API-Version": "reservation 1.1", **headers},
            timeout=ANSWERED_WITHIN,
        )
        return Asked(method, name, answer.status_code, answer.json() if answer.content else None)


def all_at_once(site: Site, act: Callable[[Visitor], Made], clients: int = CLIENTS) -> list[Made]:
    """Let so many clients act at the same moment, each in a thread, and return what each one made of it."""
    barrier = threading.Barrier(clients)

    def visit(number: int) -> Made:
        with requests.Session() as session:
            # The connection is there before the moment comes, so that nothing but the race itself takes time.
            session.get(site.url(number).removesuffix("v1") + "healthcheck", timeout=ANSWERED_WITHIN)
            barrier.wait(ANSWERED_WITHIN)
            return act(Visitor(number, session, site.url(number)))

    with ThreadPoolExecutor(clients) as threads:
        return list(threads.map(visit, range(clients)))


def statuses(answers: Sequence[Asked]) -> dict[tuple[str, int], int]:
    """Return how often each method got each status."""
    found: dict[tuple[str, int], int] = {}
    for answer in answers:
        found[answer.method, answer.status] = found.get((answer.method, answer.status), 0) + 1
    return found
