"""The attacks of `bench/bystander.py`: requests with which one project may slow down the others."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import HOST, INSTANCE, lease
from bench.fill import first_day
from leasehold.cloud.sandbox.faults import Fault, Faults
from leasehold.db.engine import open_engine
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Options = Mapping[str, Mapping[str, object]]

FEW: Final = 4
MANY: Final = 24
"""More connections than the API serves at the same time."""
IDLE_PER_CONNECTION: Final = 20
SILENT_MS: Final = 3_600_000
SLOW_MS: Final = 200
AS_ATTACKER: Final = {**VERSION_1_1, "X-Project-Id": "attacker", "X-Roles": "member,reader"}
WITHIN: Final = 60.0
PATIENCE_SECONDS: Final = 2
"""The longest wait of the API here, so that idle and attack can alternate; the default is ten times as long."""
PATIENT: Final = {"api": {"cloud_seconds": PATIENCE_SECONDS, "delete_wait_seconds": PATIENCE_SECONDS}}
MANAGER_STOPS: Final = {"manager": {"shutdown_seconds": 1}}
"""A short shutdown, for a manager with a task that never ends."""
FLAVOR: Final = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}


class Act(Protocol):
    """What is done again and again on one connection."""

    def __call__(self, number: int, /) -> None:
        """Do it once; `number` is how often it was done before."""

    def close(self) -> None:
        """Close the connection."""


def _nothing(_database_url: str, _url: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack of one project: for each connection, `begin(url, target)` returns the request to repeat.

    Each connection pauses after each of its requests. `prepare(database_url, url)` creates what the attack needs, in
    the benchmark's own process, and returns the `target`.
    """

    title: str
    begin: Callable[[str, str], Act]
    connections: int = FEW
    pause_seconds: float = 0.1
    prepare: Callable[[str, str], str] = _nothing
    options: Options | None = None


@dataclass(frozen=True, slots=True)
class _Poster:
    """Posts bodies as leases; another answer than these is an error."""

    client: Client
    body_of: Callable[[int], dict[str, Any]]
    answers: tuple[int, ...]

    def __call__(self, number: int, /) -> None:
        self.client.ask("POST", "/leases", self.body_of(number)).expect(*self.answers)

    def close(self) -> None:
        self.client.close()


def _posting(body_of: Callable[[int], dict[str, Any]], *answers: int) -> Callable[[str, str], Act]:
    """Return the attack that posts these bodies, and expects these answers."""
    return lambda url, _target: _Poster(Client(url, AS_ATTACKER), body_of, answers)


def _orderings(reservations: int, comparisons: int) -> Callable[[int], dict[str, Any]]:
    """Return bodies that compare a text of every host with many new texts; no host satisfies a comparison."""

    def body_of(number: int) -> dict[str, Any]:
        names = count(number * reservations * comparisons)
        parts = [{**HOST, "min": 1, "max": 1, "hypervisor_properties": expression(names)} for _ in range(reservations)]
        return _later("orderings", *parts)

    def expression(names: Iterator[int]) -> str:
        orderings = [["<", "$availability_zone", f"node-{next(names):020}"] for _ in range(comparisons)]
        return json.dumps(["or", *orderings], separators=(",", ":"))

    return body_of


def _sizes(reservations: int) -> Callable[[int], dict[str, Any]]:
    """Return bodies that ask for instances of many sizes, all new, and for too many hosts."""

    def body_of(number: int) -> dict[str, Any]:
        first = number * reservations
        sizes = ({"vcpus": 1 + (first + n) % 29, "memory_mb": 1 + (first + n) % 120_000} for n in range(reservations))
        return _later("sizes", *({**INSTANCE, **size} for size in sizes), {**HOST, "min": 1_000, "max": 1_000})

    return body_of


def _flavors(parts: int) -> Callable[[int], dict[str, Any]]:
    """Return bodies with many reservations of one flavor."""
    return lambda _number: _later("flavors", *([FLAVOR] * parts))


def _later(name: str, *parts: dict[str, Any]) -> dict[str, Any]:
    start = first_day() + timedelta(days=4000)
    return lease(name, start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO), *parts)


def _fault(verb: str, latency_ms: int) -> Callable[[str, str], str]:
    def prepare(database_url: str, _url: str) -> str:
        engine = open_engine(database_url)
        Faults(engine).set(Fault(verb, latency_ms=latency_ms))
        engine.dispose()
        return ""

    return prepare


def _stuck(database_url: str, url: str) -> str:
    """Return the path of a lease whose deletion has begun and never ends, because the cloud does not answer."""
    end = (first_day() + timedelta(days=1)).strftime(ISO)
    with Client(url, AS_ATTACKER) as client:
        made = client.ask("POST", "/leases", lease("stuck", "now", end, {**HOST, "min": 1, "max": 1})).expect(201)
        path = f"/leases/{made.body['lease']['id']}"
        wait_for(lambda: client.get(path)["lease"]["status"] == "ACTIVE", within=WITHIN)
        _fault("*", SILENT_MS)(database_url, url)
        client.ask("DELETE", path).expect(204)
        if client.get(path)["lease"]["status"] != "DELETING":
            message = "The deletion was done, although the cloud does not answer."
            raise RuntimeError(message)
    return path


@dataclass(frozen=True, slots=True)
class _Deleter:
    """Deletes a lease which is being deleted."""

    client: Client
    path: str

    def __call__(self, _: int, /) -> None:
        self.client.ask("DELETE", self.path).expect(204)

    def close(self) -> None:
        self.client.close()


def _deletes(url: str, path: str) -> Act:
    return _Deleter(Client(url, AS_ATTACKER), path)


@dataclass(frozen=True, slots=True)
class _Stranger:
    """An unauthenticated client: idle connections, and one for health checks."""

    idle: Sequence[socket.socket]
    client: Client

    def __call__(self, _: int, /) -> None:
        self.client.ask("GET", "//healthcheck").expect(200)

    def close(self) -> None:
        self.client.close()
        for each in self.idle:
            each.close()


def _strangers(url: str, _target: str) -> Act:
    place = urlsplit(url)
    address = (place.hostname or "", place.port or 0)
    idle = [socket.create_connection(address, timeout=WITHIN) for _ in range(IDLE_PER_CONNECTION)]
    for each in idle:
        each.sendall(b"GET /healthch")
    return _Stranger(idle, Client(url))


ATTACKS: Final = {
    "orderings": Attack("427 kB of orderings are asked for", _posting(_orderings(20, 375), 400)),
    "orderings, allowed": Attack("as many orderings as allowed are asked for", _posting(_orderings(4, 250), 409)),
    "sizes": Attack("a thousand new sizes are asked for", _posting(_sizes(999), 403)),
    "sizes, allowed": Attack("as many new sizes as allowed are asked for", _posting(_sizes(19), 409)),
    "deletes": Attack("a lease that is stuck in its deletion is deleted", _deletes, MANY, 1.0, _stuck, PATIENT),
    "strangers": Attack("24 strangers with 480 idle connections ask for the health check", _strangers, MANY),
    "parts": Attack(
        "a thousand parts with one flavor are asked for of a slow Nova",
        _posting(_flavors(1_000), 403),
        prepare=_fault("flavors.*", SLOW_MS),
    ),
    "parts, slow": Attack(
        "as many parts with one flavor as allowed are asked for of a slow Nova",
        _posting(_flavors(20), 201, 403, 409),
        prepare=_fault("flavors.*", SLOW_MS),
    ),
    "parts, silent": Attack(
        "as many parts with one flavor as allowed are asked for of a silent Nova",
        _posting(_flavors(20), 201, 503),
        MANY,
        prepare=_fault("flavors.*", SILENT_MS),
        options=PATIENT,
    ),
}
"""By name; tests run each of them alone."""
