"""The steps of a program: every write, counted and named, with a point at each to die or to pause.

Our programs and the sandbox cloud keep all state in the database. So the effects of a kill depend only on which
transactions were committed before it: killing right before and right after each writing commit covers all kills.
No product code changes for this: SQLAlchemy reports its commits.
"""

from __future__ import annotations

import re
import signal
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect

from leasehold.cloud.sandbox.aggregates import SandboxAggregates
from leasehold.cloud.sandbox.flavors import SandboxFlavors
from leasehold.cloud.sandbox.images import SandboxImages
from leasehold.cloud.sandbox.networks import SandboxNetworks
from leasehold.cloud.sandbox.placement import SandboxProviders
from leasehold.cloud.sandbox.servers import SandboxServers
from leasehold.manager.claim_guard import ClaimGuard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

PORTS = (SandboxAggregates, SandboxFlavors, SandboxImages, SandboxNetworks, SandboxProviders, SandboxServers)
UNCOUNTED_THREADS = ("renewals", "audit", "sequencer", "health")
"""Threads that write on their own schedule, so that their writes are not the same step in every run.

The working thread's claim renewals are excluded too: they happen only where the work takes long.
"""
CLAIMING_THREAD = "claims"
_WRITE = re.compile(r"(?:^\s*|^BEGIN NOT ATOMIC |; )(?:INSERT INTO|UPDATE|DELETE FROM)\s+[`\"]?(\w+)")
"""A write, alone or in a compound statement (`db/together.py`)."""


class Place(StrEnum):
    """The point within a step: right before its transaction begins, right before it commits, or right after."""

    BEGIN = "begin"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a run, in the step of this number, counted from 1.

    BEGIN only applies to calls to the cloud: the call has been decided, and nothing is locked yet.
    """

    number: int
    place: Place

    def __str__(self) -> str:
        """Return its text for a table."""
        return f"{self.place} {self.number}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The signal that a program sends itself at a moment, if any; it writes its steps to `log`."""

    log: Path
    moment: Moment | None = None
    signal: signal.Signals = signal.SIGKILL

    def steps(self) -> list[str]:
        """Return the names of the steps so far."""
        return self.log.read_text().splitlines() if self.log.exists() else []


class Steps:
    """Counts this process's commits that wrote something, and sends the signal at the planned one."""

    def __init__(self, plan: Plan) -> None:
        """Prepare the counters; `install` adds the hooks."""
        self._plan = plan
        self._lock = threading.Lock()
        self._count = 0
        self._claims = False
        self._here = threading.local()

    def install(self) -> None:
        """Start counting in all engines of this process."""
        listen: Callable[..., None] = event.listen
        listen(Engine, "engine_connect", self._at_work)
        listen(Engine, "begin", self._begun)
        listen(Engine, "after_cursor_execute", self._written)
        listen(Engine, "rollback", lambda _connection: self._forget())
        commit: Callable[[DefaultDialect, Any], None] = DefaultDialect.do_commit

        def do_commit(dialect: DefaultDialect, connection: Any) -> None:
            name, number = self._begin()
            self._reach(number, Place.BEFORE)
            commit(dialect, connection)
            self._taken(name)
            self._reach(number, Place.AFTER)

        DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]  # SQLAlchemy has no event after a commit
        self._leave_renewals_out()
        for port in PORTS:
            for name, method in list(vars(port).items()):
                if getattr(method, "is_verb", False):
                    setattr(port, name, self._named(f"{port.group}.{name}", method))

    def _at_work(self, _connection: Any) -> None:
        """Create the empty list of steps once the manager looks for work."""
        if not self._claims and threading.current_thread().name == CLAIMING_THREAD:
            self._claims = True
            self._plan.log.touch()

    def _named(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a call to the cloud, so that its commits carry its name."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self._here.verb = name
            try:
                return method(*args, **kwargs)
            finally:
                self._here.verb = None

        call.is_verb = True  # type: ignore[attr-defined]  # like the method it wraps
        return call

    def _leave_renewals_out(self) -> None:
        check = ClaimGuard.check

        def checked(hold: ClaimGuard) -> None:
            self._here.renewing = True
            try:
                check(hold)
            finally:
                self._here.renewing = False

        ClaimGuard.check = checked  # type: ignore[assignment, method-assign]  # only the harness tells renewals apart

    def _written(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found = _WRITE.findall(statement)
        uncounted = threading.current_thread().name in UNCOUNTED_THREADS or getattr(self._here, "renewing", False)
        if found and not uncounted:
            self._here.written = {**getattr(self._here, "written", {}), **dict.fromkeys(found)}

    def _forget(self) -> dict[str, None]:
        written: dict[str, None] = getattr(self._here, "written", {})
        self._here.written = {}
        return written

    def _begin(self) -> tuple[str, int | None]:
        """Return the name and number of the step about to be committed; the number is None when it does not count."""
        written = self._forget()
        if not written:
            return "", None
        with self._lock:
            self._count += 1
            return getattr(self._here, "verb", None) or f"commit of {', '.join(written)}", self._count

    def _taken(self, name: str) -> None:
        if name:
            with self._plan.log.open("a") as log:
                log.write(f"{name}\n")

    def _begun(self, connection: Connection) -> None:
        writes = connection.get_execution_options().get("leasehold_writes", False)
        if writes and getattr(self._here, "verb", None):
            self._reach(self._count + 1, Place.BEGIN)

    def _reach(self, number: int | None, place: Place) -> None:
        if number is not None and self._plan.moment == Moment(number, place):
            # Signal this thread: any thread may take a process signal, and this one would run on for a while.
            signal.pthread_kill(threading.get_ident(), self._plan.signal)
