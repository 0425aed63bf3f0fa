"""How late events reach webhooks when 10,000 happen in a minute and one of three receivers hangs.

The events are copies of that of one lease, written as a transaction of a use case would write them. The lag of an event
is the time from its transaction to its arrival.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import requests
from sqlalchemy import insert, select

from bench.figures import percentile
from bench.row import Row
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import outbox
from tests.processes import prepare_database, running, wait_for
from tests.receiver import receiving
from tests.servers import new_database

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from tests.receiver import Receiver

A_MINUTE: Final = 10_000
SECONDS: Final = 60
APART: Final = 0.1
"""Seconds between two transactions that write events."""
LAG_SECONDS: Final = 2.0
WITHIN: Final = 120
OPTIONS: Final[dict[str, dict[str, object]]] = {
    "api": {"auth_strategy": "none"},
    "delivery": {"http": True, "allowed_networks": "127.0.0.0/8"},
}
HEADERS: Final = {"OpenStack-API-Version": "reservation 1.2"}
LEASE: Final = {"name": "n", "start_date": "2040-05-02 10:00", "end_date": "2040-05-02 11:00", "reservations": []}


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, with one manager; quick: a sixth of the time."""
    number = A_MINUTE // 6 if quick else A_MINUTE
    lags: list[list[float]] = [[], []]
    with new_database("mariadb") as url, ExitStack() as stack:
        prepare_database(url)
        api = stack.enter_context(running("leasehold-api", database_url=url, options=OPTIONS)).url
        requests.post(f"{api}/leases", json=LEASE, headers=HEADERS, timeout=WITHIN).raise_for_status()
        receivers = [stack.enter_context(receiving(keep_alive=True)) for _ in range(3)]
        for receiver in receivers:
            made = requests.post(f"{api}/subscriptions", json={"target": receiver.url}, headers=HEADERS, timeout=WITHIN)
            receiver.secret = made.json()["subscription"]["secret"]
        for receiver, mine in zip(receivers, lags, strict=False):
            _note(receiver, mine)
        receivers[2].answer = receivers[2].hang
        stack.enter_context(running("leasehold-manager", database_url=url, options=OPTIONS))
        # The event of the lease itself: when it is there, the manager has started, and the third receiver hangs.
        wait_for(lambda: receivers[2].tries and min(map(len, lags)) == 1, within=WITHIN)
        engine = open_engine(url)
        _happen(engine, number)
        engine.dispose()
        wait_for(lambda: min(map(len, lags)) > number, within=WITHIN)
        receivers[2].resumed.set()
    both = [each for mine in lags for each in mine[1:]]
    if [len(mine) - 1 for mine in lags] != [number, number]:
        message = f"{number} events happened, and {[len(mine) - 1 for mine in lags]} arrived."
        raise RuntimeError(message)
    what = f"{A_MINUTE:,} events a minute to three webhooks, one of which hangs: lag of the others"
    return [
        Row(f"{what}, most", max(both), "s", LAG_SECONDS),
        Row(f"{what}, p50", percentile(both, 50), "s"),
    ]


def _note(receiver: Receiver, lags: list[float]) -> None:
    def answer(event: dict[str, Any]) -> int:
        lags.append(time.time() - datetime.fromisoformat(event["time"]).timestamp())
        return 200

    receiver.answer = answer


def _happen(engine: Engine, number: int) -> None:
    """Write so many events at an even pace."""
    with engine.connect() as connection:
        row = connection.execute(select(outbox)).mappings().one()
    kept = {key: row[key] for key in ("lease_id", "project_id", "event_type", "payload")}
    begun, done = time.monotonic(), 0
    while done < number:
        time.sleep(APART)
        due = min(number, int((time.monotonic() - begun) * A_MINUTE / SECONDS))
        now = datetime.now(UTC)
        rows = [{**kept, "generation": each, "created_at": now} for each in range(done, due)]
        if rows:
            with writing(engine) as connection:
                connection.execute(insert(outbox), rows)
                connection.commit()
        done = due
