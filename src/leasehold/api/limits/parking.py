"""Requests that wait without a thread: the server calls the application again when they are woken (decision 0038).

A server that can do so puts a `Parking` into the WSGI environment of each request. A handler that has to wait leaves
with `leave`, and the request's thread is free. Once `wake` was called, the server runs the request again from its
beginning, with the note that the handler left.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENVIRON_KEY = "leasehold.parking"


class Parked(BaseException):
    """Takes a request out of its thread, up to the server."""


class Parking:
    """Where one run of a request may be parked; `note` is what the run before it left, None in the first."""

    def __init__(self, again: Callable[[], None], note: Any = None) -> None:
        """`again` lets the server run the request once more."""
        self.note = note
        self._again = again
        self._lock = Lock()
        self._woken = self._left = False

    def leave(self, note: Any) -> NoReturn:
        """End this run of the request without an answer; the next one gets `note`."""
        self.note = note
        raise Parked

    def wake(self) -> None:
        """Let the request run again, as soon as its thread has left it; another thread calls this, once."""
        with self._lock:
            self._woken, left = True, self._left
        if left:
            self._again()

    def left(self) -> None:
        """Note that the thread has left the request; the server calls this when it has caught `Parked`."""
        with self._lock:
            self._left, woken = True, self._woken
        if woken:
            self._again()


def parking_of(environ: Mapping[str, Any]) -> Parking | None:
    """Return where a request may be parked; None under a server that cannot do so."""
    found: Parking | None = environ.get(ENVIRON_KEY)
    return found
