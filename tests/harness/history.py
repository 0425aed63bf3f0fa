"""Of all that many clients were told at the same time there is one order, in which each answer is right.

Each client creates, amends, moves and deletes leases of equal hosts in a few hours, its own and those of others, and
reads leases and what is free meanwhile.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING
from uuid import uuid4

import requests

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine
from leasehold.model.errors import BusyError, NotEnoughError, OverloadedError
from tests.harness.amounts import Amend, Answer, Ask, Create, Delete, Free, Held, Request, Show, deletion, unexplained
from tests.harness.linear import NEVER
from tests.harness.mix import ANYTHING
from tests.harness.programs import Fleet, fleet
from tests.harness.tables import moment
from tests.harness.visitor import NEWEST, Asked, Outcome, all_at_once
from tests.processes import prepare_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.harness.visitor import Visitor

SEED, CLIENTS, EACH = 20_261_129, 12, 20
HOSTS, HOURS = 5, 3
BEGIN = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=30)
HOUR = timedelta(hours=1)
NOTHING_DONE = (BusyError.code, OverloadedError.code)
"""Codes of answers that say that nothing was done, and nothing else: the request has no place in an order."""


@contextmanager
def site_of(urls: Sequence[str], apis: int) -> Iterator[Fleet]:
    """Run a site on a new database, which has these URLs, with only these hosts."""
    prepare_database(urls[0])
    engine = open_engine(urls[0])
    names = [f"equal-{number}" for number in range(HOSTS)]
    seed.add_hosts(engine, (seed.HostSpec(100 + n, name, name, 8, 8192, 100) for n, name in enumerate(names)))
    engine.dispose()
    with fleet(urls, apis=apis) as made:
        for name in names:
            answer = requests.post(f"{made.url(0)}/os-hosts", json={"name": name}, timeout=60)
            assert answer.status_code == 201, answer.text
        yield made


@dataclass
class History:
    """What all clients were told, and the leases that they know: by name their ids, and those of the reservations."""

    requests: list[Request] = field(default_factory=list)
    _ids: dict[str, tuple[str, str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self) -> list[str]:
        """Return the names of the leases that were granted so far."""
        with self._lock:
            return sorted(self._ids)

    def act(self, visitor: Visitor) -> None:
        """Send the requests of a client."""
        rng = random.Random(SEED * 1000 + visitor.number)  # noqa: S311 - a workload wants repeatable numbers
        for _ in range(EACH):
            self.ask(visitor, _another(rng, self.known()))

    def look(self, visitor: Visitor) -> None:
        """Read all leases, and what is free."""
        for ask in (*map(Show, self.known()), *map(Free, range(HOURS))):
            self.ask(visitor, ask)

    def ask(self, visitor: Visitor, ask: Ask) -> None:
        """Send one request, and note what the client is told."""
        start = time.monotonic()
        asked = self._sent(visitor, ask)
        end = time.monotonic()
        if asked.outcome is Outcome.REFUSED and asked.body["code"] in NOTHING_DONE:
            return
        answer = _told(ask, asked)
        done = ask, answer, start, NEVER if answer is Answer.NONE else end
        with self._lock:
            self.requests += deletion(ask.name, *done[1:]) if isinstance(ask, Delete) else [Request(*done)]
            if isinstance(ask, Create) and answer is Answer.GRANTED:
                self._ids[ask.name] = asked.lease_id, asked.body["lease"]["reservations"][0]["id"]

    def _sent(self, visitor: Visitor, ask: Ask) -> Asked:
        match ask:
            case Create(name, wants):
                part = {"resource_type": "physical:host", **_amount(wants.amount), **ANYTHING}
                return visitor.create({"name": name, **_dates(wants.hour), "reservations": [part], "events": []})
            case Amend(name, hour, amount):
                lease_id, part_id = self._ids[name]
                parts = {} if amount is None else {"reservations": [{"id": part_id, **_amount(amount)}]}
                return visitor.amend(lease_id, {**({} if hour is None else _dates(hour)), **parts})
            case Delete(name):
                return visitor.delete(self._ids[name][0])
            case Show(name):
                return visitor.ask("GET", f"/leases/{self._ids[name][0]}")
            case Free(hour):
                dates = _dates(hour)
                window = f"from={dates['start_date']}&to={dates['end_date']}"
                return visitor.ask("GET", f"/availability?resource_type=physical:host&{window}", headers=NEWEST)
        raise AssertionError(ask)


def _another(rng: random.Random, known: Sequence[str]) -> Ask:
    """Return what is asked for next; most often about one of the leases that are the newest."""
    chance, hour, amount = rng.random(), rng.randrange(HOURS), rng.randint(1, 2)
    if chance < 0.12:
        return Free(hour)
    if not known or chance < 0.45:
        return Create(uuid4().hex, Held(hour, amount))
    name = rng.choice(known)
    if chance < 0.6:
        return Amend(name, amount=rng.randint(1, 3))
    if chance < 0.75:
        return Amend(name, hour=hour)
    return Delete(name) if chance < 0.88 else Show(name)


def _dates(hour: int) -> dict[str, str]:
    start = BEGIN + hour * HOUR
    return {"start_date": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end_date": f"{start + HOUR:%Y-%m-%dT%H:%M:%SZ}"}


def _amount(number: int) -> dict[str, int]:
    return {"min": number, "max": number}


def _told(ask: Ask, asked: Asked) -> object:
    """Return what a client is told; fails for an answer that none of these requests may get."""
    if asked.outcome is Outcome.UNKNOWN:
        return Answer.NONE
    if asked.outcome is Outcome.REFUSED:
        absent = asked.status == HTTPStatus.NOT_FOUND
        assert absent or asked.body["code"] == NotEnoughError.code, asked
        return Answer.ABSENT if absent else Answer.REFUSED
    if isinstance(ask, Free):
        return asked.body["availability"]["throughout"]
    if isinstance(ask, Show):
        lease = asked.body["lease"]
        return Held((moment(lease["start_date"]) - BEGIN) // HOUR, lease["reservations"][0]["min"])
    return Answer.GRANTED


def check_one_order(site: Fleet) -> None:
    """Have many clients at work, and find one order that explains what they were told; raises AssertionError."""
    history = History()
    all_at_once(site, history.act, CLIENTS)
    all_at_once(site, history.look, 1)
    told = {(type(each.ask), each.answer) for each in history.requests}
    assert told >= {
        (Create, Answer.GRANTED),
        (Create, Answer.REFUSED),
        (Amend, Answer.GRANTED),
        (Delete, Answer.GRANTED),
    }
    stuck = unexplained(history.requests, HOSTS)
    assert stuck is None, f"seed {SEED}: {stuck}"
