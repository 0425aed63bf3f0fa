"""The steps of a program: everything it writes, counted and named, and a place at each to die or to stand still.

All that our programs and the sandbox cloud know is in the database. So what a kill can leave behind depends only on
which transactions were committed before it, and killing right before and right after each commit that wrote something
is killing everywhere. No product code is changed for this: SQLAlchemy says when it commits.
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
UNCOUNTED_THREADS = ("renewals", "audit")
"""They write at moments of their own, so that what they write is not the same step in every run.

Nor is the renewal of a claim by the thread that works: it is due only where the work takes long.
"""
CLAIMING_THREAD = "claims"
_WRITE = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+[`\"]?(\w+)")


class Place(StrEnum):
    """Where in a step: right before its transaction begins, right before it commits, or right after."""

    BEGIN = "begin"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in a run, at the step of this number, counted from 1.

    At its BEGIN only calls to the cloud are met: what the call is to do has been decided, and nothing is locked yet.
    """

    number: int
    place: Place

    def __str__(self) -> str:
        """Return it as a table shows it."""
        return f"{self.place} {self.number}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to a program: the signal it sends itself at a moment, or nothing; `log` is where its steps go."""

    log: Path
    moment: Moment | None = None
    signal: signal.Signals = signal.SIGKILL

    def steps(self) -> list[str]:
        """Return the names of the steps that were taken so far."""
        return self.log.read_text().splitlines() if self.log.exists() else []


class Steps:
    """Counts the commits of this process that wrote something, and acts at the one that the plan names."""

    def __init__(self, plan: Plan) -> None:
        """Prepare to count; nothing is hooked yet."""
        self._plan = plan
        self._lock = threading.Lock()
        self._count = 0
        self._claims = False
        self._here = threading.local()

    def install(self) -> None:
        """Begin to count, in all engines of this process."""
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

        DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]  # no event comes after a commit
        self._leave_renewals_out()
        for port in PORTS:
            for name, method in list(vars(port).items()):
                if getattr(method, "is_verb", False):
                    setattr(port, name, self._named(f"{port.group}.{name}", method))

    def _at_work(self, _connection: Any) -> None:
        """Leave a sign, the empty list of steps, once the manager looks for work."""
        if not self._claims and threading.current_thread().name == CLAIMING_THREAD:
            self._claims = True
            self._plan.log.touch()

    def _named(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a call to the cloud, so that what it commits is known by its name."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self._here.verb = name
            try:
                return method(*args, **kwargs)
            finally:
                self._here.verb = None

        call.is_verb = True  # type: ignore[attr-defined]  # as the method it stands for
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
        found = _WRITE.match(statement)
        uncounted = threading.current_thread().name in UNCOUNTED_THREADS or getattr(self._here, "renewing", False)
        if found is not None and not uncounted:
            self._here.written = {**getattr(self._here, "written", {}), found.group(1): None}

    def _forget(self) -> dict[str, None]:
        written: dict[str, None] = getattr(self._here, "written", {})
        self._here.written = {}
        return written

    def _begin(self) -> tuple[str, int | None]:
        """Return the name and the number of the step that is about to be committed; no number when it is none."""
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
            # To this thread: a signal to the process is taken by any of them, and this one goes on for a while.
            signal.pthread_kill(threading.get_ident(), self._plan.signal)
