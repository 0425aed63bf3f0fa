"""Clients of the harness (`tests/harness/mix.py`) that ask the APIs at some URLs when they are told to."""

from __future__ import annotations

import math
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

import requests

from tests.harness.mix import Times
from tests.harness.storm import SEED, Crowd
from tests.harness.visitor import Visitor
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLIENTS = 2
ROUNDS = 6
WITHIN = 120.0
PAUSE = 0.1
"""Seconds between the requests of a client, which otherwise would take the processor from the upgrade."""
TIMES = Times(soon=0.5, stays=0.3)


@dataclass
class Load:
    """The clients; `rounds` says how many requests each has made, and each chooses among `urls` for every request."""

    urls: Sequence[str]
    crowd: Crowd = field(default_factory=lambda: Crowd(SEED, TIMES, math.inf, None))
    rounds: list[int] = field(default_factory=lambda: [0] * CLIENTS)
    wrong: list[str] = field(default_factory=list)
    working: threading.Event = field(default_factory=threading.Event)

    def go_on(self, *urls: str) -> None:
        """Let every client make so many requests of these APIs alone; nobody asks another one any more."""
        self.urls = urls
        with self.at_work():
            wanted = [done + ROUNDS for done in self.rounds]
            wait_for(lambda: self.wrong or all(map(int.__ge__, self.rounds, wanted)), WITHIN)
        assert not self.wrong, self.wrong

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let the clients make requests during the block; they rest otherwise, which leaves the processor to others."""
        self.working.set()
        try:
            yield
        finally:
            self.working.clear()

    def live(self, number: int) -> None:
        """Create, amend and delete leases and offers as one of the clients, and list the leases after each request."""
        rng = random.Random(SEED * 1000 + number)  # noqa: S311 - a workload wants repeatable numbers
        with requests.Session() as session:
            while self.working.wait() and self.crowd.another():
                visitor = Visitor(number, session, rng.choice(self.urls))
                self.crowd.ask(visitor, rng)
                listed = visitor.ask("GET", "/leases")
                if listed.status != HTTPStatus.OK:
                    self.wrong.append(f"The list of leases was answered {listed.status}: {listed.body}")
                self.rounds[number] += 1
                time.sleep(PAUSE)


@contextmanager
def load(*urls: str) -> Iterator[Load]:
    """Run the clients until the block ends."""
    made = Load(urls)
    threads = [threading.Thread(target=made.live, args=(each,), name=f"client-{each}") for each in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.crowd.until = 0
        made.working.set()
        for thread in threads:
            thread.join()
