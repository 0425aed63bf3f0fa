"""How many requests are worked on, how many may wait for their turn, and who is sent away at once.

A queue without an end helps nobody: whoever is at its back has given up before the answer comes, and the work is done
all the same. So as many requests are let in as there are threads for them, some more may wait a little, and the rest
learn within milliseconds that they have to come again.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Semaphore
from typing import TYPE_CHECKING

from leasehold.metrics.request import FULL, LATE, count_shed
from leasehold.model.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.conf.settings import ApiSettings

PUBLIC = 4
"""Questions that need no identity, such as the API's description: let in beside the others, few at the same time."""

MESSAGE = "The service has more requests than it can answer now; nothing was changed. Try again in a moment."


class Permit:
    """The place inside that one request has; only its own thread uses it."""

    def __init__(self, inside: Semaphore, patience: float, *, held: bool = True) -> None:
        """Keep where places are taken, and how many seconds one is waited for."""
        self._inside = inside
        self._patience = patience
        self._held = held
        self.needed = held
        """Whether the request still has to be inside; one that has committed has not, and is answered in any case."""

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let others have the place for the length of the block, and take one again after it where it is needed.

        Raises OverloadedError when there is none in time.
        """
        self.give_back()
        try:
            yield
        finally:
            if self.needed:
                self._take()

    def give_back(self) -> None:
        """Let others have the place; again does no harm."""
        if self._held:
            self._held = False
            self._inside.release()

    def _take(self) -> None:
        if not self._inside.acquire(timeout=self._patience):
            raise sent_away(LATE)
        self._held = True


OUTSIDE = Permit(Semaphore(0), 0.0, held=False)
"""What a request has that is answered without a place."""


class AdmissionControl:
    """Stands in front of everything that a request costs; one for each process."""

    def __init__(self, settings: ApiSettings) -> None:
        """Let in `threads` requests, have `waiting` more wait for up to `wait_seconds`."""
        self._inside = Semaphore(settings.threads)
        self._waiting = Semaphore(settings.waiting)
        self._public = Semaphore(PUBLIC)
        self._patience = settings.wait_seconds
        self.closing = False
        """Whether this process is about to stop, and a balancer should choose another one."""

    @contextmanager
    def admit(self, *, public: bool) -> Iterator[Permit]:
        """Hold a place inside for the length of the block; raises OverloadedError when there is none in time."""
        inside = self._public if public else self._inside
        if not inside.acquire(blocking=False):
            if public:
                raise sent_away(FULL)
            self._wait()
        permit = Permit(inside, self._patience)
        try:
            yield permit
        finally:
            permit.give_back()

    def _wait(self) -> None:
        if not self._waiting.acquire(blocking=False):
            raise sent_away(FULL)
        try:
            if not self._inside.acquire(timeout=self._patience):
                raise sent_away(LATE)
        finally:
            self._waiting.release()


def sent_away(reason: str) -> OverloadedError:
    """Count a request that is refused for this reason, and return the error that says so."""
    count_shed(reason)
    return OverloadedError(MESSAGE)
