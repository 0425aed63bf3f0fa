"""An HTTP request that ends within a fixed time, and takes a bounded memory, whatever the other side sends.

The timeout of `requests` counts for each read alone, so a server that sends one byte at a time, or `100 Continue`
without end, would hold the call for ever. Nothing is decompressed: a small answer could become a large one.
"""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from leasehold.http.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PART = 64 * 1024
"""Bytes that are read at a time."""


class BoundedAnswer:
    """An answer whose status is known, and whose body can be read until the deadline."""

    def __init__(self, answer: requests.Response, deadline: _Cutter) -> None:
        self.status_code = answer.status_code
        self._raw = answer.raw
        self._deadline = deadline

    def read(self, longest: int) -> bytes:
        """Return the body as it was sent; raises ValueError if it has more bytes than `longest`.

        Raises requests.RequestException if it does not arrive whole, and in time.
        """
        content = bytearray()
        try:
            for part in self._raw.stream(PART, decode_content=False):
                content += part
                if self._deadline.passed or len(content) > longest:
                    break
        except HTTPError as error:
            raise requests.ConnectionError(error) from error
        if self._deadline.passed:
            # What is cut off may look complete.
            raise requests.Timeout
        if len(content) > longest:
            message = "the answer is too long"
            raise ValueError(message)
        return bytes(content)


@contextmanager
def requested(
    method: str, url: str, body: str | None, headers: Mapping[str, str], seconds: float, cafile: str | None
) -> Iterator[BoundedAnswer]:
    """Send a request and yield the answer, whose body has not been read yet.

    Connecting to an address of the host may take `seconds`, and all that follows `seconds` again; then the connection
    is cut, also while the caller reads the answer. Raises requests.RequestException. Redirects are not followed.
    """
    deadline = _Cutter(seconds)
    with requests.Session() as session, closing(_Adapter(deadline)) as adapter:
        request = session.prepare_request(
            requests.Request(method, url, data=body, headers={**headers, "Accept-Encoding": "identity"})
        )
        # `Session.send` would read the whole body of a redirect, and parse its target, even if it is not followed.
        around: Any = session.merge_environment_settings(request.url, {}, stream=True, verify=cafile or True, cert=None)
        try:
            with adapter.send(request, timeout=seconds, **around) as answer:
                if deadline.passed:
                    # Headers that are cut off look like complete ones.
                    raise requests.Timeout
                yield BoundedAnswer(answer, deadline)
        except (requests.RequestException, HTTPError) as error:
            if deadline.passed:
                raise requests.Timeout from error
            if isinstance(error, HTTPError):
                raise requests.RequestException(error) from error
            raise
        finally:
            deadline.end()


def cause(error: requests.RequestException) -> str:
    """Return why there is no answer, without the URL, which may hold a password."""
    if isinstance(error, requests.Timeout):
        return "it did not answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted, or it does not speak TLS"
    if isinstance(error, requests.ConnectionError):
        return "it cannot be reached, or closed the connection"
    return f"its answer cannot be read ({type(error).__name__})"


class _Cutter:
    """Cuts the connection that it is given, some seconds after that."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._connections: list[tuple[socket.socket, threading.Timer]] = []
        self.passed = False

    def begin(self, connection: socket.socket) -> None:
        # A copy, because TLS takes the socket over; both stand for the same connection.
        copy = connection.dup()
        timer = threading.Timer(self._seconds, self._cut, [copy])
        timer.daemon = True
        self._connections.append((copy, timer))
        timer.start()

    def end(self) -> None:
        for copy, timer in self._connections:
            timer.cancel()
            timer.join()
            copy.close()

    def _cut(self, connection: socket.socket) -> None:
        self.passed = True
        # An OSError says that the other side has closed the connection already.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Makes connections that the deadline cuts."""

    def __init__(self, deadline: _Cutter) -> None:
        super().__init__()
        self._deadline = deadline

    def get_connection_with_tls_context(self, *args: Any, **more: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **more)
        kind, deadline = pool.ConnectionCls, self._deadline

        def connect(connection: Any) -> socket.socket:
            made: socket.socket = kind._new_conn(connection)  # noqa: SLF001 - the only step between connecting and TLS.
            deadline.begin(made)
            return made

        pool.ConnectionCls = type("WatchedConnection", (kind,), {"_new_conn": connect, "response_class": Answer})
        return pool
