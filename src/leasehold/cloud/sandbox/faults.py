"""Fault injection: calls that are slow, or that fail before, after or in the middle of their effect.

A fault is a row, so another process can set it, and it survives a restart. Each process reads the rows at most once a
second; without faults, a call costs one comparison.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ECONNRESET
from fnmatch import fnmatchcase
from functools import wraps
from os import strerror
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, Protocol, TypeVar, get_args

from sqlalchemy import bindparam, delete, event, insert, select, update
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.cloud.sandbox import tables
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

REFRESH_SECONDS = 1.0

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE"})
_WHEN = {"before": "before its effect", "half": "half-way", "after": "after its effect"}

_ALL = select(tables.faults).order_by(tables.faults.c.id)
_USE_ONE = (
    update(tables.faults)
    .where(tables.faults.c.id == bindparam("fault_id"), tables.faults.c.remaining > 0)
    .values(remaining=tables.faults.c.remaining - 1)
)


Moment = Literal["none", "before", "after", "half", "reset"]
ERRORS: tuple[Moment, ...] = get_args(Moment)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of all calls that match `verb`, a pattern over names such as `aggregates.add_host`.

    `error` says when the call fails: `before` or `after` its effect, `half` after its first write, or `reset`, a broken
    connection after its effect. With `permanent`, the error is CloudPermanentError, otherwise CloudTransientError.
    `remaining` is how many more calls fail; None means until cleared.
    """

    verb: str
    latency_ms: int = 0
    error: Moment = "none"
    permanent: bool = False
    remaining: int | None = None
    id: int = 0


class Faults:
    """The faults in force: stored in the database and cached for one second."""

    def __init__(
        self,
        engine: Engine,
        *,
        in_force: bool = True,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Read faults through `engine`; `seconds` is a monotonic clock, `sleep` delays slow calls.

        With `in_force` off, this object can set faults for other processes, but its own calls ignore them.
        """
        self._engine = engine
        self._in_force = in_force
        self._seconds = seconds
        self._sleep = sleep
        self._lock = threading.Lock()
        self._known: tuple[Fault, ...] = ()
        self._read_at: float | None = None

    def all(self) -> tuple[Fault, ...]:
        """Return every fault, oldest first, including those with no calls remaining."""
        with reading(self._engine) as connection:
            return tuple(Fault(**row) for row in connection.execute(_ALL).mappings())

    def set(self, fault: Fault) -> None:
        """Add a fault. Other processes see it within a second; the oldest fault that matches a call applies to it."""
        values = {name: getattr(fault, name) for name in ("verb", "latency_ms", "error", "permanent", "remaining")}
        with writing(self._engine) as connection:
            connection.execute(insert(tables.faults).values(values))
        self._read_at = None

    def clear(self) -> None:
        """Remove all faults."""
        with writing(self._engine) as connection:
            connection.execute(delete(tables.faults))
        self._read_at = None

    def take(self, verb: str) -> Fault | None:
        """Return the fault that applies to this call of `verb`, and decrement its `remaining`; None without a fault."""
        for fault in self._current() if self._in_force else ():
            if fnmatchcase(verb, fault.verb) and (fault.remaining is None or self._use_one(fault)):
                return fault
        return None

    def suffer(self, fault: Fault, verb: str, moment: str) -> None:
        """Delay the call or raise the fault's error, if that belongs to this `moment` (`before`, `half` or `after`)."""
        if moment == "before" and fault.latency_ms:
            self._delay(verb, fault.latency_ms / 1000)
        if moment == "after" and fault.error == "reset":
            raise ConnectionResetError(ECONNRESET, strerror(ECONNRESET))
        if fault.error == moment:
            error = CloudPermanentError if fault.permanent else CloudTransientError
            raise error(f"sandbox {verb}: failed {_WHEN[moment]}, because a fault was set")

    def _delay(self, verb: str, seconds: float) -> None:
        """Delay a call; one that would outlast its request's deadline raises CloudTransientError before its effect."""
        left = time_left()
        self._sleep(seconds if left is None else min(seconds, left))
        if left is not None and left < seconds:
            raise CloudTransientError(f"sandbox {verb}: the service did not answer in time")

    @contextmanager
    def halved(self, fault: Fault, verb: str) -> Iterator[None]:
        """For a fault `half`, fail at this thread's second write in the block; the first write is committed.

        A call with at most one write cannot be half done, so it succeeds.
        """
        if fault.error != "half":
            yield
            return
        thread, written = threading.get_ident(), 0

        def before_the_second(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
            nonlocal written
            if threading.get_ident() == thread and statement.split(maxsplit=1)[0].upper() in _WRITES:
                written += 1
                if written > 1:
                    connection.connection.commit()
                    self.suffer(fault, verb, "half")

        event.listen(self._engine, "before_cursor_execute", before_the_second)
        try:
            yield
        finally:
            event.remove(self._engine, "before_cursor_execute", before_the_second)

    def _current(self) -> tuple[Fault, ...]:
        # Who comes while they are read waits for that, and does not go by what was known before.
        with self._lock:
            now = self._seconds()
            if self._read_at is None or now - self._read_at >= REFRESH_SECONDS:
                # Set before reading: `set()` clears it, so a fault that is set during the read forces another read.
                self._read_at = now
                self._known = self.all()
            return self._known

    def _use_one(self, fault: Fault) -> bool:
        if fault.remaining == 0:
            return False
        with writing(self._engine) as connection:
            return connection.execute(_USE_ONE, {"fault_id": fault.id}).rowcount == 1


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Raise CloudTransientError when the database does not answer or sees a conflict, or a connection breaks."""
    try:
        yield
    except (ConnectionError, OperationalError, InterfaceError, IntegrityError, PoolTimeoutError) as error:
        raise CloudTransientError(f"sandbox {name}: {type(error).__name__}: {error}") from error


class _Port(Protocol):
    """What `verb` needs from the object whose method it wraps."""

    group: ClassVar[str]
    faults: Faults


_Self = TypeVar("_Self", bound=_Port)
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


def verb(method: Callable[Concatenate[_Self, _Params], _Result]) -> Callable[Concatenate[_Self, _Params], _Result]:
    """Make a method a verb of its port: faults apply to it, and database errors become CloudTransientError.

    The latter includes the conflict of two callers that create the same object at once.
    """

    @wraps(method)
    def call(self: _Self, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        name = f"{self.group}.{method.__name__}"
        with database_errors(name):
            fault = self.faults.take(name)
            if fault is None:
                return method(self, *args, **kwargs)
            self.faults.suffer(fault, name, "before")
            with self.faults.halved(fault, name):
                result = method(self, *args, **kwargs)
            self.faults.suffer(fault, name, "after")
            return result

    call.is_verb = True  # type: ignore[attr-defined]  # `verbs_of` finds the verbs of a port by this mark.
    return call


def verbs_of(port: type[_Port]) -> tuple[str, ...]:
    """Return the names of a port's verbs as faults know them, e.g. `aggregates.add_host`."""
    return tuple(f"{port.group}.{name}" for name, value in vars(port).items() if getattr(value, "is_verb", False))
