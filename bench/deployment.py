"""The measured service: real processes on a separate database, with hosts of the sandbox enrolled."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from bench.client import AnswerError, Client
from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine
from tests import processes
from tests.processes import prepare_database, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from tests.processes import Program

FIRST_HOST: Final = 1001
MANY_LEASES: Final = {"max_open_leases": -1, "max_hosts_per_project": -1}
HOST: Final = {"resource_type": "physical:host", "hypervisor_properties": "", "resource_properties": ""}
INSTANCE: Final = {
    "resource_type": "virtual:instance",
    "vcpus": 2,
    "memory_mb": 4096,
    "disk_gb": 20,
    "amount": 1,
    "affinity": None,
    "resource_properties": "",
}


def host_specs(count: int) -> list[seed.HostSpec]:
    """Return `count` equal hosts, named by number."""
    return [
        seed.HostSpec(FIRST_HOST + n, f"node-{n:05}", f"node-{n:05}", 32, 131_072, 2_000, "zone-n")
        for n in range(count)
    ]


def build_hosts(database_url: str, count: int) -> None:
    """Create the database and the sandbox, with `count` hosts beside the sandbox's own; enrols none."""
    prepare_database(database_url)
    engine = open_engine(database_url)
    seed.add_hosts(engine, host_specs(count))
    engine.dispose()


def enrol(client: Client, count: int) -> None:
    """Enrol the hosts of `build_hosts` over HTTP, in their order."""
    for spec in host_specs(count):
        client.ask("POST", "/os-hosts", {"name": spec.hypervisor_hostname}).expect(201)


def running(
    name: str, *, options: Mapping[str, Mapping[str, object]] | None = None, **more: Any
) -> AbstractContextManager[Program]:
    """Run a program as `tests.processes.running` does, without the default limits per project."""
    return processes.running(name, options={"enforcement": MANY_LEASES, **(options or {})}, **more)


@contextmanager
def fresh_service(hosts: int, options: Mapping[str, Mapping[str, object]] | None = None) -> Iterator[Program]:
    """Run `leasehold-api` on a new SQLite database with `hosts` hosts enrolled."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        url = f"sqlite:///{folder}/leasehold.db"
        build_hosts(url, hosts)
        with running("leasehold-api", database_url=url, options=options) as api:
            with Client(api.url) as client:
                enrol(client, hosts)
            yield api


@contextmanager
def running_managers(database_url: str, count: int) -> Iterator[list[Program]]:
    """Run `count` managers; yields them once all of them answer."""
    with ExitStack() as stack:
        ports = [free_port() for _ in range(count)]
        options = ({"manager": {"metrics_port": port}} for port in ports)
        programs = [
            stack.enter_context(running("leasehold-manager", database_url=database_url, options=each))
            for each in options
        ]
        wait_for(lambda: all(map(_answers, ports)), within=60.0)
        yield programs


def _answers(port: int) -> bool:
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            return client.ask("GET", "//metrics").status == 200
    except AnswerError:
        return False


def host_lease(name: str, start: str, end: str, hosts: int = 1) -> dict[str, Any]:
    """Return the body that asks for exactly `hosts` hosts."""
    return lease(name, start, end, {**HOST, "min": hosts, "max": hosts})


def lease(name: str, start: str, end: str, *reservations: Mapping[str, object]) -> dict[str, Any]:
    """Return the body that asks for these reservations."""
    return {"name": name, "start_date": start, "end_date": end, "reservations": list(reservations), "events": []}
