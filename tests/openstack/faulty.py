"""Injects errors into a service of the cloud, through a relay in front of the real service."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.relay import Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Trouble:
    """An error: the next `remaining` requests with one of `methods` get `status` and never reach the service.

    `code` is Placement's code of the error.
    """

    status: int
    code: str
    methods: frozenset[str]
    remaining: int
    given: int = 0


@dataclass
class Faulty:
    """The relay's controls."""

    url: str = ""
    troubles: list[Trouble] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def trouble(self, status: int, code: str, methods: str, times: int) -> Trouble:
        """Answer the next `times` requests with one of these methods, separated by spaces, with an error."""
        trouble = Trouble(status, code, frozenset(methods.split()), times)
        with self.lock:
            self.troubles.append(trouble)
        return trouble

    def next_for(self, method: str) -> Trouble | None:
        """Return the error for a request and count it, or None."""
        with self.lock:
            for trouble in self.troubles:
                if trouble.remaining and method in trouble.methods:
                    trouble.remaining -= 1
                    trouble.given += 1
                    return trouble
        return None


@contextmanager
def in_front_of(service: str) -> Iterator[Faulty]:
    """Relay requests to the service at this URL until the block ends."""
    faulty = Faulty()

    class InFront(Relay):
        def target(self) -> str:
            return f"{service}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            trouble = faulty.next_for(self.command)
            if trouble is None:
                return None
            error = {"status": trouble.status, "code": trouble.code, "title": "Trouble", "detail": "made by the test"}
            return trouble.status, json.dumps({"errors": [error]}).encode()

    with listening(InFront) as port:
        faulty.url = f"http://127.0.0.1:{port}"
        yield faulty
