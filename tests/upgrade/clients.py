"""Clients that continuously create, read, list and delete leases, and record every unexpected answer."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import requests

from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

WITHIN = 120.0
VERSION = {"OpenStack-API-Version": "reservation 1.1"}
ROOM = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 16,
    "disk_gb": 0,
    "amount": 1,
    "affinity": None,
    "resource_properties": "",
}


@dataclass
class Clients:
    """Clients of the APIs at `urls`, which may change; `kept` and `deleted` are the ids of leases."""

    urls: list[str]
    kept: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def stop(self) -> None:
        """Let each client finish its round, and wait for it: nothing is asked any more."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def take_turns(self, times: int) -> None:
        """Wait until each client has completed this many more rounds; raise when any answer was wrong."""
        wanted = [done + times for done in self.rounds]
        wait_for(
            lambda: self.wrong or all(done >= least for done, least in zip(self.rounds, wanted, strict=True)), WITHIN
        )
        assert self.wrong == []

    def live(self, number: int) -> None:
        """Create leases until told to stop, and delete every second one."""
        while not self.stopping.is_set():
            try:
                self._round(number)
            except requests.RequestException as error:
                self.wrong.append(repr(error))
            self.rounds[number] += 1

    def _round(self, number: int) -> None:
        turn = self.rounds[number]
        end = datetime.now(UTC) + timedelta(hours=2)
        body: dict[str, object] = {
            "name": f"{number}-{turn}",
            "start_date": "now",
            "end_date": f"{end:%Y-%m-%d %H:%M}",
            "reservations": [ROOM],
            "events": [],
        }
        made = self._ask("POST", "/leases", 201, turn, body)
        if made is None:
            return
        lease_id = made.json()["lease"]["id"]
        self.kept.add(lease_id)
        self._ask("GET", f"/leases/{lease_id}", 200, turn + 1)
        self._ask("GET", "/leases", 200, turn)
        if turn % 2 and self._ask("DELETE", f"/leases/{lease_id}", 204, turn + 1):
            self.kept.remove(lease_id)
            self.deleted.add(lease_id)

    def _ask(
        self, verb: str, path: str, wanted: int, turn: int, body: dict[str, object] | None = None
    ) -> requests.Response | None:
        urls = self.urls
        answer = requests.request(verb, urls[turn % len(urls)] + path, json=body, headers=VERSION, timeout=WITHIN)
        if answer.status_code == wanted:
            return answer
        self.wrong.append(f"{verb} {path}: {answer.status_code} {answer.text}")
        return None


@contextmanager
def clients(urls: list[str], number: int) -> Iterator[Clients]:
    """Run this many clients until the block ends."""
    crowd = Clients(urls, rounds=[0] * number)
    crowd.threads += [
        threading.Thread(target=crowd.live, args=(each,), name=f"client-{each}") for each in range(number)
    ]
    for thread in crowd.threads:
        thread.start()
    try:
        yield crowd
    finally:
        crowd.stop()
    assert crowd.wrong == []
