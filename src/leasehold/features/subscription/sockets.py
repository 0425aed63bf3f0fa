"""Sockets to receivers and to the mail server: TLS, and a limit of time for a whole conversation.

The timeout of a socket alone lets the other side drip for ever.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@lru_cache(maxsize=4)
def tls_context(cafile: str | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a file, or with None those of the system.

    Certificates are checked, and belong to the name that was asked for.
    """
    return ssl.create_default_context(cafile=cafile)


def seconds_until(end: float) -> float:
    """Return how long it is until a moment of the steady clock, but never 0, which sockets take for no limit."""
    return max(end - monotonic(), 0.001)


@contextmanager
def cut_at(end: float, connected: socket.socket) -> Iterator[None]:
    """Shut a socket down if the block has not ended by then, a moment of the steady clock."""
    seconds = seconds_until(end)
    connected.settimeout(seconds)
    timer = Timer(seconds, _cut, (connected,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connected: socket.socket) -> None:
    # It may have been closed meanwhile, which is as good. The method of the base class leaves the state of TLS to the
    # thread that uses it.
    with suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
