"""How long a bystander's create takes while another project attacks the API, compared with idle, in one run.

Idle and attack alternate, so that both are measured on the same machine in the same minutes. Each attack runs in a
separate process, over several connections that pause between their requests: the benchmark measures what one request
does to others, not how two programs share two processors. `[api] max_requests_per_minute` stops a plain flood. The
bystander creates one lease after the other, on hosts that no other lease uses.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Final

from bench.attacks import ATTACKS, MANAGER_STOPS
from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import host_lease
from bench.figures import percentile
from bench.fill import filled, first_day
from bench.row import Row
from tests.processes import running, wait_for
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

    from bench.attacks import Act

HOSTS: Final = 1_000
TIMES: Final = 300
TURNS: Final = 5
"""How often idle and attack alternate; each part makes its share of `TIMES` requests."""
WARM: Final = 20
PAUSE_SECONDS: Final = 0.01
RATIO: Final = 5.0
UNNOTICED_MS: Final = 200.0
"""A create that takes no longer than this is within the budget, however fast an idle one is (decision 0117)."""
SETTLE_SECONDS: Final = 0.5
"""How long an attack goes on before the bystander is timed."""
CHANGE_WITHIN: Final = 60.0
"""How long an attack may take to begin, and to end."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure every attack on MariaDB, with one API and one manager; quick: a tenth of the requests."""
    return [row for name in ATTACKS for row in measure(name, TIMES // 10 if quick else TIMES)]


def measure(name: str, times: int) -> list[Row]:
    """Measure one attack on a new database."""
    attack = ATTACKS[name]
    idle: list[float] = []
    busy: list[float] = []
    with new_database("mariadb") as url:
        filled(url, HOSTS)
        with (
            running("leasehold-api", database_url=url, options=attack.options) as api,
            running("leasehold-manager", database_url=url, options=MANAGER_STOPS),
            Client(api.url, {**VERSION_1_1, "X-Project-Id": "bystander", "X-Roles": "member,reader"}) as client,
        ):
            target = attack.prepare(url, api.url)
            bystander = Bystander(client)
            bystander.ask(WARM)
            with _attacker(name, api.url, target) as attacker:
                for _ in range(TURNS):
                    idle += bystander.ask(times // TURNS)
                    with attacker.attacking():
                        busy += bystander.ask(times // TURNS)
                asked = attacker.asked.value
    what = f"create of a bystander while {attack.title}"
    p99, beside = 1000 * percentile(busy, 99), 1000 * percentile(idle, 99)
    return [
        Row(f"{what}, p99", p99, "ms", max(RATIO * beside, UNNOTICED_MS), beside, "idle"),
        Row(f"{what}, p50", 1000 * percentile(busy, 50), "ms", None, 1000 * percentile(idle, 50), "idle"),
        Row(f"{what}: requests of the attacker", asked, ""),
    ]


@dataclass(slots=True)
class Bystander:
    """Creates one lease after the other, each in a different hour."""

    client: Client
    numbers: Iterator[int] = field(default_factory=count)

    def ask(self, times: int) -> list[float]:
        """Return how many seconds each of `times` creates took."""
        taken = []
        for number in (next(self.numbers) for _ in range(times)):
            start = first_day() + timedelta(hours=number)
            body = host_lease("bystander", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
            taken.append(self.client.ask("POST", "/leases", body).expect(201).seconds)
            time.sleep(PAUSE_SECONDS)
        return taken


@dataclass(frozen=True, slots=True)
class _Attacker:
    """The process that attacks while `going` is set; `asked` counts answers, `asking` requests under way."""

    going: Event
    asked: Synchronized[int]
    asking: Synchronized[int]

    @contextmanager
    def attacking(self) -> Iterator[None]:
        """Attack during the block, and then wait until the last request is answered."""
        before = self.asked.value
        self.going.set()
        wait_for(lambda: self.asked.value + self.asking.value > before, within=CHANGE_WITHIN)
        time.sleep(SETTLE_SECONDS)
        yield
        self.going.clear()
        wait_for(lambda: not self.asking.value, within=CHANGE_WITHIN)

    def repeat(self, act: Act, pause_seconds: float) -> None:
        """Repeat `act` on one connection, while `going` is set."""
        for number in count():
            self.going.wait()
            with self.asking.get_lock():
                self.asking.value += 1
            act(number)
            with self.asked.get_lock():
                self.asked.value += 1
            with self.asking.get_lock():
                self.asking.value -= 1
            time.sleep(pause_seconds)


@contextmanager
def _attacker(name: str, url: str, target: str) -> Iterator[_Attacker]:
    """Run the attacking process, which waits until `going` is set."""
    context = multiprocessing.get_context("spawn")
    attacker = _Attacker(context.Event(), context.Value("i", 0), context.Value("i", 0))
    process = context.Process(target=_attack, args=(name, url, target, attacker), daemon=True)
    process.start()
    try:
        yield attacker
        if not process.is_alive():
            message = f"The attack {name!r} ended by itself."
            raise RuntimeError(message)
    finally:
        process.terminate()
        process.join()


def _attack(name: str, url: str, target: str, attacker: _Attacker) -> None:
    attack = ATTACKS[name]
    with ThreadPoolExecutor(attack.connections) as threads:
        acts = [attack.begin(url, target) for _ in range(attack.connections)]
        asking = [threads.submit(attacker.repeat, act, attack.pause_seconds) for act in acts]
        for failed in wait(asking, return_when=FIRST_EXCEPTION).done:
            traceback.print_exception(failed.exception())
        os._exit(1)  # The other threads never end.
