"""Measures one kind of request after the other, with several clients at once: latencies, and the servers' time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bench.figures import percentile
from bench.peers.peer import Window
from bench.peers.workload import DAY, HOSTS, bookings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.peers.peer import Asked, Booking, Connection, Peer

    Request = Callable[[Connection], Asked[Any]]

One = TypeVar("One")
Answered = TypeVar("Answered")
OPERATIONS: Final = ("create", "show", "amend", "list", "earliest for all hosts", "delete")
"""In this order: each leaves behind what the next one needs."""
TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
EARLIEST_DAYS: Final = 3


@dataclass(slots=True)
class Sample:
    """The seconds of each request of one kind, those of each round apart, and the servers' processor time for all."""

    rounds: list[list[float]] = field(default_factory=list)
    processor: float = 0.0

    def add(self, seconds: list[float], processor: float) -> None:
        """Add a round."""
        self.rounds.append(seconds)
        self.processor += processor

    def milliseconds(self, percent: float) -> float:
        """Return a percentile of all requests."""
        return 1000 * percentile([each for one in self.rounds for each in one], percent)

    @property
    def processor_milliseconds(self) -> float:
        """The servers' processor time for one request."""
        return 1000 * self.processor / sum(map(len, self.rounds))

    @property
    def spread(self) -> float:
        """The highest p50 of a round, as a multiple of the lowest one."""
        middles = [percentile(each, 50) for each in self.rounds]
        return max(middles) / min(middles)


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of requests of each kind: by so many clients, so many writes and reads, and so many of all at once."""

    seed: int
    number: int
    clients: int
    begin: int
    writes: int
    lists: int

    def requests(self) -> Mapping[str, list[Request]]:
        """Return the requests of each kind, the same for every system."""
        made = bookings(self.seed, f"turn-{self.number}-{self.clients}", self.writes, self.begin)
        window = Window(HOSTS, self.begin - DAY, EARLIEST_DAYS * DAY)
        return {
            "create": [_creation(each) for each in made],
            "show": [_showing(each.name) for each in made],
            "amend": [_amendment(each) for each in made],
            "list": [lambda client: client.list_all()] * self.lists,
            "earliest for all hosts": [lambda client: client.earliest(window)] * self.lists,
            "delete": [_deletion(each.name) for each in made],
        }


def _creation(booking: Booking) -> Request:
    return lambda client: client.create(booking)


def _showing(name: str) -> Request:
    return lambda client: client.show(name)


def _amendment(booking: Booking) -> Request:
    """Give back the second half: that must always be granted."""
    return lambda client: client.amend(booking.name, (booking.start + booking.end) // 2)


def _deletion(name: str) -> Request:
    return lambda client: client.delete(name)


def measure(peers: Sequence[Peer], turn: Turn, samples: Mapping[tuple[str, str], Sample]) -> None:
    """Send the requests of a turn, kind by kind, to each of the systems; samples are by its name and the kind.

    Every second turn begins with the other system. Raises RuntimeError when the systems answer differently.
    """
    requests = turn.requests()
    order = peers if turn.number % 2 else peers[::-1]
    with ExitStack() as stack:
        clients = {
            peer.name: [stack.enter_context(peer.connect(number)) for number in range(turn.clients)] for peer in peers
        }
        for kind in OPERATIONS:
            answers = {}
            for peer in order:
                before = processor_seconds(peer.processes)
                asked = at_once(clients[peer.name], requests[kind])
                samples[peer.name, kind].add(
                    [each.seconds for each in asked], processor_seconds(peer.processes) - before
                )
                answers[peer.name] = [each.value for each in asked]
            _compare(kind, answers)


def _compare(kind: str, answers: Mapping[str, list[Any]]) -> None:
    """Make sure that all systems did the same work: everything was granted, found, and as long."""
    different = {name: set(found) for name, found in answers.items()}
    if len({frozenset(each) for each in different.values()}) > 1 or any(False in each for each in different.values()):
        message = f"{kind}: the systems answer differently: {different}"
        raise RuntimeError(message)


def at_once(clients: Sequence[One], requests: Sequence[Callable[[One], Answered]]) -> list[Answered]:
    """Return the answers; the clients begin together, and each sends its share one after the other."""
    ready = Barrier(len(clients))

    def work(number: int) -> list[Answered]:
        ready.wait()
        return [request(clients[number]) for request in requests[number :: len(clients)]]

    with ThreadPoolExecutor(len(clients)) as threads:
        return [each for found in threads.map(work, range(len(clients))) for each in found]


def processor_seconds(processes: Sequence[int]) -> float:
    """Return the processor time that the processes have used so far, with that of threads that have ended."""
    return sum(map(_used, processes))


def _used(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    # The 14th and 15th of all fields, of which the first two have been cut off.
    return TICK * (int(fields[11]) + int(fields[12]))
