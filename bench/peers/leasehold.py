"""Leasehold on this machine: a database, two API processes and a manager, called over HTTP."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from bench.client import ISO, Client
from bench.deployment import HOST, host_lease, running
from bench.fill import Placed, filled_as
from bench.peers.peer import Asked, Held
from tests.servers import MariaDB
from tests.servers.galera import GaleraCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.peers.peer import Booking, Connection, Window
    from tests.processes import Program

APIS: Final = 2
VERSION: Final = {"OpenStack-API-Version": "reservation 1.3"}


class MemoryMariaDB(MariaDB):
    """Answers a commit from memory, and writes it to its log within a second, as an operator may set it."""

    def _run_command(self) -> list[str]:
        return [*super()._run_command(), "--innodb-flush-log-at-trx-commit=0"]


class Store:
    """A database that is killed with the service, and what is left of it afterwards."""

    def __init__(self, server: MariaDB | GaleraCluster) -> None:
        """Take a server, or a cluster of which the first node is lost at a kill."""
        self._server = server
        self.url = ""

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def nodes(self) -> Sequence[MariaDB]:
        """All servers."""
        return self._server.nodes if isinstance(self._server, GaleraCluster) else [self._server]

    def create(self) -> None:
        """Make a new, empty database the one that is used."""
        if isinstance(self._server, GaleraCluster):
            # One node was lost if the service was killed before.
            self._server.mend()
            self._urls = self._server.create_database()
        else:
            self._urls = [self._server.create_database()]
        self.url = self._urls[0]

    def kill(self) -> None:
        """Kill the server, or the node that the service uses."""
        self.nodes[0].kill()

    def recover(self) -> None:
        """Start the server again, or use the second node in place of the one that is lost."""
        if isinstance(self._server, GaleraCluster):
            self.url = self._urls[1]
            self._server.nodes[1].wait_until(synced=True)
        else:
            self._server.start()


class HTTP:
    """One client with one persistent connection to one of the API processes."""

    def __init__(self, client: Client, ids: dict[str, str]) -> None:
        """`ids` has the ids of all leases by name, whoever made them."""
        self._client = client
        self._ids = ids

    def create(self, booking: Booking) -> Asked[bool]:
        """POST a lease."""
        body = host_lease(booking.name, _date(booking.start), _date(booking.end), booking.hosts)
        answer = self._client.ask("POST", "/leases", body).expect(201, 409)
        if answer.status == 201:
            self._ids[booking.name] = answer.body["lease"]["id"]
        return Asked(answer.status == 201, answer.seconds)

    def show(self, name: str) -> Asked[bool]:
        """GET a lease."""
        answer = self._client.ask("GET", f"/leases/{self._ids[name]}").expect(200, 404)
        return Asked(answer.status == 200, answer.seconds)

    def amend(self, name: str, end: int) -> Asked[bool]:
        """PUT a lease with another end."""
        answer = self._client.ask("PUT", f"/leases/{self._ids[name]}", {"end_date": _date(end)}).expect(200, 409)
        return Asked(answer.status == 200, answer.seconds)

    def delete(self, name: str) -> Asked[bool]:
        """DELETE a lease."""
        answer = self._client.ask("DELETE", f"/leases/{self._ids.pop(name)}").expect(204)
        return Asked(value=True, seconds=answer.seconds)

    def list_all(self) -> Asked[int]:
        """GET all leases; the time is that until the whole text has arrived."""
        answer = self._client.ask("GET", "/leases").expect(200)
        # Other clients of this process would wait while a long text is decoded.
        return Asked(answer.text.count('"start_date"'), answer.seconds)

    def earliest(self, window: Window) -> Asked[int]:
        """POST a search for the first window of all hosts."""
        body = {
            "reservations": [{**HOST, "min": window.hosts, "max": window.hosts}],
            "duration_seconds": window.seconds,
            "start_date": _date(window.after),
            "limit": 1,
        }
        answer = self._client.ask("POST", "/availability/search", body).expect(200)
        return Asked(_seconds(answer.body["windows"][0]["start_date"]), answer.seconds)


class Leasehold:
    """The service on a store; the reservations of each beginning are in a database of their own."""

    name = "Leasehold"

    def __init__(self, store: Store) -> None:
        """Use the store, which is open."""
        self._store = store
        self._ids: dict[str, str] = {}
        self._programs: list[Program] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, hosts: int, held: Mapping[str, Held]) -> None:
        """Begin again with so many hosts, and these reservations of one host each."""
        self._stack.close()
        self._store.create()
        filled_as(self._store.url, hosts, [_placed(number, each) for number, each in enumerate(held.values())])
        self._start()
        with self._asking() as client:
            leases = client.get("/leases")["leases"]
        self._ids.clear()
        self._ids.update({each["name"]: each["id"] for each in leases})

    def _start(self) -> None:
        url = self._store.url
        names = [*["leasehold-api"] * APIS, "leasehold-manager"]
        self._programs = [self._stack.enter_context(running(name, database_url=url)) for name in names]

    @contextmanager
    def _asking(self, number: int = 0) -> Iterator[Client]:
        with Client(self._programs[number % APIS].url, VERSION) as client:
            yield client

    @contextmanager
    def connect(self, number: int) -> Iterator[Connection]:
        """Open a connection to one of the API processes in turn."""
        with self._asking(number) as client:
            yield HTTP(client, self._ids)

    def held(self) -> dict[str, Held]:
        """Return all leases with their hosts."""
        with self._asking() as client:
            hosts = [each["id"] for each in client.get("/os-hosts")["hosts"] if each["reservable"]]
            promised = client.get("/os-hosts/allocations")["allocations"]
            leases = client.get("/leases")["leases"]
        numbers = {each: number for number, each in enumerate(hosts)}
        chosen: dict[str, set[int]] = {each["id"]: set() for each in leases}
        for each in promised:
            for reservation in each["reservations"]:
                chosen[reservation["lease_id"]].add(numbers[each["resource_id"]])
        return {
            each["name"]: Held(frozenset(chosen[each["id"]]), _seconds(each["start_date"]), _seconds(each["end_date"]))
            for each in leases
        }

    @property
    def processes(self) -> Sequence[int]:
        """The API processes, the manager and the database servers."""
        databases = [each.pid for each in self._store.nodes if each.alive]
        return [*(each.process.pid for each in self._programs), *databases]

    def kill(self) -> None:
        """Kill all processes; of a cluster the node that they use, with what is on its disk."""
        for each in self._programs:
            each.kill()
        self._store.kill()

    def restart(self) -> None:
        """Start the service again on what is left of the store."""
        self._stack.close()
        self._store.recover()
        self._start()


def _placed(number: int, held: Held) -> Placed:
    (host,) = held.hosts
    return Placed(number, datetime.fromtimestamp(held.start, UTC), datetime.fromtimestamp(held.end, UTC), host)


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(ISO)


def _seconds(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())
