"""A database is killed and restarted while clients send requests and leases start and end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import requests
from sqlalchemy import select

from leasehold.db.tables import leases
from leasehold.model.errors import NotEnoughError, NotEnoughFloatingIpsError
from tests.factory import floating_ips, instances
from tests.harness.programs import launched
from tests.harness.stage import SHORT_CLAIMS
from tests.harness.visitor import Asked, Visitor

if TYPE_CHECKING:
    from tests.harness.stage import Stage
    from tests.servers import Server

FULL = (NotEnoughError.code, NotEnoughFloatingIpsError.code)
LONGEST_ANSWER = 20.0
"""Seconds after which a request counts as hung."""
LIFE = timedelta(seconds=6)
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Client:
    """Creates leases by name; each name is also the idempotency key, so that a retry is safe."""

    url: str
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)

    def create(self, name: str) -> Asked:
        """Request a small lease that starts now and ends soon; the same name requests the same lease."""
        parts = [instances(), floating_ips()] if name.endswith("0") else [instances()]
        new = {"name": name, "start_date": "now", "end_date": _end(), "reservations": parts, "events": []}
        with requests.Session() as session:
            visitor = Visitor(0, session, self.url)
            return visitor.create(self.asked.setdefault(name, new), **{"Idempotency-Key": name})


@dataclass(slots=True)
class Verdict:
    """The answers that clients got, and the problems found in them or afterwards."""

    answers: Counter[int] = field(default_factory=Counter)
    longest: float = 0.0
    right_after: float = 0.0
    trouble: list[str] = field(default_factory=list)


def outage(server: Server, stage: Stage, seconds: float) -> Verdict:
    """Kill the server twice during requests: restart it at once the first time, after a while the second."""
    verdict = Verdict()
    api = launched("leasehold-api", stage.folder, stage.url, options=SHORT_CLAIMS)
    manager = launched("leasehold-manager", stage.folder, stage.url, options=SHORT_CLAIMS)
    with api as asked, manager:
        client, over = Client(asked.url), threading.Event()
        crowd = threading.Thread(target=_ask_on, args=(client, over, verdict))
        crowd.start()
        try:
            for gone in (0.0, seconds):
                time.sleep(LIFE.total_seconds() / 2)
                server.kill()
                time.sleep(gone)
                server.start()
        finally:
            time.sleep(LIFE.total_seconds() / 2)
            over.set()
            crowd.join()
        begun = time.monotonic()
        _ask_again(client, verdict)
        stage.wait_until(lambda _world: not _open(stage))
        verdict.right_after = time.monotonic() - begun
        stage.check()
    names = _statuses(stage)
    if sorted(name for name, _ in names) != sorted(client.asked):
        verdict.trouble.append(f"asked for {sorted(client.asked)}, and there are {names}")
    return verdict


def _ask_on(client: Client, over: threading.Event, verdict: Verdict) -> None:
    number = 0
    while not over.wait(PAUSE):
        number += 1
        answer = client.create(f"lease-{number}")
        verdict.longest = max(verdict.longest, answer.seconds)
        verdict.answers[answer.status] += 1
        later = answer.status == 503 and "Retry-After" in answer.headers
        _note(client, answer, verdict, allowed=later)
        if answer.seconds > LONGEST_ANSWER:
            verdict.trouble.append(f"{answer.name} was answered after {answer.seconds:.1f} s")


def _ask_again(client: Client, verdict: Verdict) -> None:
    """Repeat every request with its key, as a client does after a 503."""
    for name, body in list(client.asked.items()):
        answer = client.create(name)
        if answer.status == 400 and answer.body.get("field") == "end_date":
            # Its window passed before it was granted, so send a new request for the present.
            body["end_date"] = _end()
            answer = client.create(name)
        _note(client, answer, verdict)


def _note(client: Client, answer: Asked, verdict: Verdict, *, allowed: bool = False) -> None:
    """Drop the request if capacity was short: then no trace of the lease may exist, and nobody retries."""
    if answer.status in (400, 409) and answer.body.get("code") in FULL:
        del client.asked[answer.name]
    elif answer.status != 201 and not allowed:
        verdict.trouble.append(f"{answer.name} was answered {answer.status}: {answer.body}")


def _end() -> str:
    return f"{datetime.now(UTC) + LIFE:%Y-%m-%dT%H:%M:%SZ}"


def _statuses(stage: Stage) -> list[tuple[str, str]]:
    with stage.world.service.db.reading() as connection:
        return [(row.name, row.status) for row in connection.execute(select(leases.c.name, leases.c.status))]


def _open(stage: Stage) -> bool:
    """Return whether the lease has not ended. A lease whose whole window fell into the outage ends in ERROR."""
    return any(status not in ("TERMINATED", "ERROR") for _, status in _statuses(stage))
