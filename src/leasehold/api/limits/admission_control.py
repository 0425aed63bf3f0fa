"""Admission control: limits how many requests run and how many wait, and sheds the rest with a 503.

In an unbounded queue the last clients give up before their answer comes, and the service does their work all the same.
So `threads` requests run, `waiting` more wait for up to `wait_seconds`, and the rest get a 503 within milliseconds.
Who waits for others to be decided lends its permit, so as many are decided together as were let in (decision 0128).
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Semaphore
from typing import TYPE_CHECKING

from leasehold.leasing.deciding.queue import IN_LINE
from leasehold.metrics.request import FULL, LATE, count_shed
from leasehold.model.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.conf.settings import ApiSettings

PUBLIC = 4
"""Permits for routes that need no identity, such as the API's description; they do not use the other permits."""

MESSAGE = "The service has more requests than it can answer now; nothing was changed. Try again in a moment."


class Permit:
    """The permit of one request to run; only the thread of the request uses it."""

    def __init__(self, inside: Semaphore, waiting: Semaphore, patience: float, *, held: bool = True) -> None:
        """`inside` is the semaphore of the permits, `waiting` that of the places of those who wait.

        `patience` is how many seconds to wait to acquire a permit again.
        """
        self._inside = inside
        self._waiting = waiting
        self._patience = patience
        self._held = held
        self._in_line = False
        self.needed = held
        """Whether `lent` acquires the permit again. A committed request needs none: it is answered in any case."""

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Release the permit for the length of the block, and acquire one again after it if it is `needed`.

        Raises OverloadedError when no permit is free within the patience.
        """
        self.give_back()
        try:
            yield
        finally:
            if self.needed:
                self._take()

    def give_back(self) -> None:
        """Release the permit; a second call has no effect."""
        if self._held:
            self._held = False
            self._inside.release()

    def stand_in_line(self) -> float | None:
        """Lend the permit if there is a place to wait, and return how many seconds to wait; None: it is kept."""
        if not self._in_line:
            self._in_line = self._held and self._waiting.acquire(blocking=False)
        if not self._in_line:
            return None
        self.give_back()
        return self._patience

    def take_again(self) -> None:
        """Acquire a permit for the work of a request that stood in line; raises OverloadedError as `lent` does."""
        if self._in_line and not self._held:
            self._take()
        self._leave_line()

    def late(self) -> OverloadedError:
        """Return the error of a request that has waited in line for as long as it may."""
        return overloaded(LATE)

    def end(self) -> None:
        """Release what the request has."""
        self.give_back()
        self._leave_line()

    def _leave_line(self) -> None:
        if self._in_line:
            self._in_line = False
            self._waiting.release()

    def _take(self) -> None:
        if not self._inside.acquire(timeout=self._patience):
            raise overloaded(LATE)
        self._held = True


OUTSIDE = Permit(Semaphore(0), Semaphore(0), 0.0, held=False)
"""The permit of a request that needs no admission."""


class AdmissionControl:
    """Limits the requests of one process; admission comes before anything expensive, such as authentication."""

    def __init__(self, settings: ApiSettings) -> None:
        """Let `threads` requests run, and `waiting` more wait for up to `wait_seconds`."""
        self._inside = Semaphore(settings.threads)
        self._waiting = Semaphore(settings.waiting)
        self._public = Semaphore(PUBLIC)
        self._patience = settings.wait_seconds
        self.closing = False
        """Whether this process is about to stop, so that a load balancer should choose another one."""

    @contextmanager
    def admit(self, *, public: bool) -> Iterator[Permit]:
        """Yield a permit for the length of the block; raises OverloadedError when none is free in time."""
        inside = self._public if public else self._inside
        if not inside.acquire(blocking=False):
            if public:
                raise overloaded(FULL)
            self._wait()
        permit = Permit(inside, self._waiting, self._patience)
        before = IN_LINE.set(permit)
        try:
            yield permit
        finally:
            IN_LINE.reset(before)
            permit.end()

    def has_room(self) -> bool:
        """Say whether a request would get a permit now."""
        free = self._inside.acquire(blocking=False)
        if free:
            self._inside.release()
        return free

    def _wait(self) -> None:
        if not self._waiting.acquire(blocking=False):
            raise overloaded(FULL)
        try:
            if not self._inside.acquire(timeout=self._patience):
                raise overloaded(LATE)
        finally:
            self._waiting.release()


def overloaded(reason: str) -> OverloadedError:
    """Count a request that is shed for this reason, and return the error for its answer (503)."""
    count_shed(reason)
    return OverloadedError(MESSAGE)
