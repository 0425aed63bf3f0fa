"""Kills a system while it grants reservations, and counts which of those that it had acknowledged are gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Final

from bench.client import AnswerError
from bench.figures import percentile
from bench.peers.libslurm import SlurmError
from bench.peers.workload import HOSTS, bookings
from bench.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.peers.peer import Booking, Connection, Peer

CLIENTS: Final = 8
ACKNOWLEDGED: Final = (200, 600)
MOST: Final = 2_000
PATIENCE: Final = 600.0


@dataclass(slots=True)
class Loss:
    """What several kills cost: reservations that were acknowledged, those that are gone, and how long each took."""

    acknowledged: int = 0
    gone: int = 0
    seconds: list[float] = field(default_factory=list)

    def rows(self, name: str, *, durable: bool) -> Iterator[Row]:
        """Yield the rows of a system; where an answer means that it is durable, none may be gone."""
        yield Row(f"{name}: create, {CLIENTS} clients at p50", 1000 * percentile(self.seconds, 50), "ms")
        yield Row(f"{name}: create, {CLIENTS} clients at p99", 1000 * percentile(self.seconds, 99), "ms")
        yield Row(f"{name}: acknowledged before a kill -9", self.acknowledged, "")
        yield Row(f"{name}: of these gone afterwards", self.gone, "", 0 if durable else None, exact=durable)


def killed(peer: Peer, seed: int, begin: int, times: int) -> Loss:
    """Kill the system so many times, each time after a number of acknowledged creations that depends on the seed."""
    dice, loss = Random(f"{seed} kills"), Loss()
    for number in range(times):
        peer.begin(HOSTS, {})
        asked = bookings(seed, f"kill-{number}", MOST, begin)
        granted = _storm(peer, asked, dice.randint(*ACKNOWLEDGED), loss.seconds)
        peer.restart()
        loss.acknowledged += len(granted)
        loss.gone += len(set(granted) - set(peer.held()))
    return loss


def _storm(peer: Peer, asked: Sequence[Booking], enough: int, seconds: list[float]) -> list[str]:
    """Return the names that were acknowledged until the system was killed, which is when there are enough."""
    granted: list[str] = []
    there = Event()

    def work(client: Connection, share: Sequence[Booking]) -> None:
        for booking in share:
            try:
                answer = client.create(booking)
            except (AnswerError, SlurmError):
                return
            granted.append(booking.name)
            seconds.append(answer.seconds)
            if len(granted) >= enough:
                there.set()

    with ExitStack() as stack:
        clients = [stack.enter_context(peer.connect(number)) for number in range(CLIENTS)]
        threads = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        running = [threads.submit(work, client, asked[number::CLIENTS]) for number, client in enumerate(clients)]
        reached = there.wait(PATIENCE)
        peer.kill()
        for each in running:
            each.result()
    if not reached:
        message = f"{peer.name} granted {len(granted)} reservations only."
        raise RuntimeError(message)
    return granted
