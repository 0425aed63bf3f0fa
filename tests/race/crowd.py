"""Clients in threads that all start at the same moment, each with its own connection."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import requests

from tests.harness.visitor import ANSWERED_WITHIN, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.harness.visitor import Asked
    from tests.race.conftest import Site

CLIENTS = 64
Made = TypeVar("Made")


def all_at_once(site: Site, act: Callable[[Visitor], Made], clients: int = CLIENTS) -> list[Made]:
    """Run `act` for this many clients at the same moment, each in a thread; return their results."""
    barrier = threading.Barrier(clients)

    def visit(number: int) -> Made:
        with requests.Session() as session:
            # Connect before the start, so that only the race itself takes time.
            session.get(site.url(number).removesuffix("v1") + "healthcheck", timeout=ANSWERED_WITHIN)
            barrier.wait(ANSWERED_WITHIN)
            return act(Visitor(number, session, site.url(number)))

    with ThreadPoolExecutor(clients) as threads:
        return list(threads.map(visit, range(clients)))


def statuses(answers: Sequence[Asked]) -> dict[tuple[str, int], int]:
    """Return the number of answers for each method and status."""
    found: dict[tuple[str, int], int] = {}
    for answer in answers:
        found[answer.method, answer.status] = found.get((answer.method, answer.status), 0) + 1
    return found
