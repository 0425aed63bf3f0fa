"""10,000 leases that are due within one minute: how late they start, and how long other requests take meanwhile.

One API process and one manager process, on MariaDB with durable commits. Every lease is one host of the sandbox, with
no resources prepared in the cloud. Meanwhile one client creates other leases.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import fill_to_start, filled, first_day
from bench.memory import resident
from bench.row import Row
from bench.watch import seconds_until_active
from tests.servers import new_database

LEASES: Final = 10_000
MINUTE: Final = 60
IDLE_POSTS: Final = 60
LOOK_EVERY: Final = 0.25
ASK_EVERY: Final = 0.2
PATIENCE: Final = 600.0
FILL_SECONDS_PER_LEASE: Final = 0.002
START_SECONDS: Final = 25.0
LONGEST: Final = 2.25
"""How many times the minute it may take until all are active: 75 s after its end."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure; quick: a twentieth of the leases in a twentieth of the minute."""
    leases, seconds = (LEASES // 20, MINUTE // 20) if quick else (LEASES, MINUTE)
    with new_database("mariadb") as url:
        begin = datetime.now(UTC).replace(microsecond=0)
        begin += timedelta(seconds=round(START_SECONDS + FILL_SECONDS_PER_LEASE * leases))
        dues = [begin + timedelta(seconds=number * seconds // leases) for number in range(leases)]
        filled(url, leases)
        ids = fill_to_start(url, dues)
        with (
            running("leasehold-api", database_url=url) as api,
            running("leasehold-manager", database_url=url) as manager,
        ):
            asker = Asker(api.url)
            asker.ask_before(begin)
            before = resident(manager)["VmRSS"]
            time.sleep(max(0.0, (begin - datetime.now(UTC)).total_seconds()))
            with asker:
                lags = seconds_until_active(
                    url, dict(zip(ids, dues, strict=True)), look_every=LOOK_EVERY, patience=PATIENCE
                )
            took = max(dues[n] + timedelta(seconds=lags[ids[n]]) for n in range(leases)) - begin
            highest = resident(manager)["VmHWM"]
    what = f"{leases:,} leases due in {seconds} s"
    late = list(lags.values())
    return [
        Row(
            f"{what}: all of them active after",
            took.total_seconds(),
            "s",
            seconds * LONGEST,
            seconds,
            "the time they are due in,",
        ),
        Row(f"{what}: started later than due, p50", percentile(late, 50), "s"),
        Row(f"{what}: started later than due, p99", percentile(late, 99), "s"),
        Row(f"{what}: memory of the manager, highest", highest, "MiB", None, before, "idle"),
        Row(f"{what}: POST a lease meanwhile, p50", asker.p50(asker.busy), "ms", None, asker.p50(asker.idle), "idle"),
    ]


@dataclass
class Asker:
    """A client that creates leases: with `ask_before` before the burst, and as a context manager during it."""

    url: str
    idle: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    _number: int = 0

    def ask_before(self, moment: datetime) -> None:
        """Create IDLE_POSTS leases, but none after `moment`; an untimed request loads the calendar first."""
        with Client(self.url, VERSION_1_1) as client:
            self._ask(client)
            while len(self.idle) < IDLE_POSTS and datetime.now(UTC) < moment:
                self.idle.append(self._ask(client))

    def __enter__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def p50(self, seconds: list[float]) -> float:
        """Return the p50 in milliseconds."""
        return 1000 * percentile(seconds, 50)

    def _go_on(self) -> None:
        with Client(self.url, VERSION_1_1) as client:
            while not self._stopping.wait(ASK_EVERY):
                self.busy.append(self._ask(client))

    def _ask(self, client: Client) -> float:
        self._number += 1
        start = first_day() + timedelta(hours=self._number)
        body = host_lease("other", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
        return client.ask("POST", "/leases", body).expect(201).seconds
