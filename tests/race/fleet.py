"""Several API processes and several managers on one database; each can be killed and restarted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING

import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.processes import running, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.processes import Program

Options = dict[str, dict[str, object]]

OPTIONS: Options = {
    "manager": {"claim_seconds": 10, "retry_most_seconds": 5},
    "physical:host": {"polling_interval": 1},
    "enforcement": {"max_open_leases": -1},
}
"""Short times, so that managers handle expired claims and failed hosts within seconds.

A project asks for thousands of leases, so it has no limit.
"""


@dataclass
class Member:
    """One process of the fleet and its database."""

    name: str
    database_url: str
    options: Options
    program: Program | None = None
    metrics_port: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start it and wait until it works. The calling thread has to outlive it, or the kernel ends it."""
        options = {section: dict(values) for section, values in self.options.items()}
        if self.name == "leasehold-manager":
            self.metrics_port = free_port()
            options.setdefault("manager", {})["metrics_port"] = self.metrics_port
        self.program = self._stack.enter_context(running(self.name, database_url=self.database_url, options=options))
        if self.metrics_port:
            wait_for(lambda: answers(self), within=60)

    def kill(self) -> None:
        """Kill it with SIGKILL, as a power cut would."""
        assert self.program is not None
        self.program.kill()
        self.stop()

    def stop(self) -> None:
        """Stop it as an operator would; raise AssertionError when it does not exit by itself or has exited before."""
        self._stack.close()
        self.program = None

    @property
    def alive(self) -> bool:
        return self.program is not None

    @property
    def url(self) -> str:
        """The endpoint; it does not answer while the process is down."""
        return self.program.url if self.program is not None else "http://127.0.0.1:9/v1"


@dataclass(frozen=True)
class Fleet:
    """All the API and manager processes."""

    apis: Sequence[Member]
    managers: Sequence[Member]

    def url(self, client: int) -> str:
        """Return the endpoint for this client: its own process's, or that of the next one that runs."""
        members = [*self.apis[client % len(self.apis) :], *self.apis[: client % len(self.apis)]]
        return next((member.url for member in members if member.alive), members[0].url)

    @property
    def members(self) -> Sequence[Member]:
        return [*self.apis, *self.managers]


@contextmanager
def fleet(urls: Sequence[str], *, apis: int, managers: int, options: Options | None = None) -> Iterator[Fleet]:
    """Run this many processes, each on one of `urls` in rotation, until the block ends."""
    wanted = merged(OPTIONS, options or {})
    names = ["leasehold-api"] * apis + ["leasehold-manager"] * managers
    turns = [*islice(cycle(urls), apis), *islice(cycle(urls), managers)]
    members = [Member(name, url, wanted) for name, url in zip(names, turns, strict=True)]
    with ExitStack() as stack:
        # One thread for each process, which lives until the end.
        starters = stack.enter_context(ThreadPoolExecutor(len(members)))
        for member in members:
            stack.callback(member.stop)
        list(starters.map(Member.start, members))
        yield Fleet(members[:apis], members[apis:])


def merged(first: Mapping[str, Mapping[str, object]], second: Mapping[str, Mapping[str, object]]) -> Options:
    """Return the options of both; `second` overrides `first`."""
    sections = {**first, **second}
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in sections}


def answers(manager: Member) -> bool:
    """Return whether a manager works: it answers Prometheus from then on."""
    try:
        return requests.get(f"http://127.0.0.1:{manager.metrics_port}/metrics", timeout=5).ok
    except requests.ConnectionError:
        return False


def work_done(manager: Member) -> dict[str, int]:
    """Return the number of tasks by phase that this manager has done since its start."""
    page = requests.get(f"http://127.0.0.1:{manager.metrics_port}/metrics", timeout=30).text
    found: dict[str, int] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name == "leasehold_tasks_total" and sample.labels["outcome"] == "done":
                phase = sample.labels["phase"]
                found[phase] = found.get(phase, 0) + int(sample.value)
    return found
