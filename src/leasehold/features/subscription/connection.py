"""HTTP connections to receivers that users name: only to public addresses, and never for long (decision 0040).

The name is resolved once for each connection, and the connection goes to an address that was checked, so that no second
look-up can give another one. No proxy is read from the environment, and no redirect is followed.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from time import monotonic
from typing import TYPE_CHECKING

from leasehold.features.subscription.addresses import may_be_reached
from leasehold.features.subscription.channel import DeliveryError
from leasehold.features.subscription.sockets import cut_at, seconds_until, tls_context
from leasehold.http.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from http.client import HTTPResponse

    from leasehold.features.subscription.settings import DeliverySettings

LARGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read, so that the connection can be used again. After a larger one it is closed."""
NOWHERE = "The name of the receiver has no address that webhooks may reach."
"""One sentence for two causes: otherwise it would tell which names there are in the network of the service."""


class Connection:
    """A connection to one receiver: made when it is first needed, and again when the receiver has closed it."""

    def __init__(self, host: str, port: int, settings: DeliverySettings, *, secure: bool) -> None:
        """Prepare the connection; `secure` means TLS, with a certificate for `host`."""
        self._host, self._port, self._secure = host, port, secure
        self._settings = settings
        self._http = self._closed()

    def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> int:
        """Send a request and return the status of its answer; raises DeliveryError if there is none in time.

        The receiver may have closed a connection that was kept. The request is then sent again on a new one: it knows
        an event that it gets twice by its id.
        """
        end = monotonic() + self._settings.answer_seconds
        kept = self._http.sock is not None
        try:
            try:
                return self._ask(end, path, content, headers)
            except (OSError, HTTPException):
                self.close()
                if not kept or monotonic() >= end:
                    raise
            return self._ask(end, path, content, headers)
        except (OSError, HTTPException) as error:
            self.close()
            raise DeliveryError(_sentence(error, late=monotonic() >= end)) from error

    def close(self) -> None:
        """Close the connection; the next request makes a new one."""
        self._http.close()
        self._http = self._closed()

    def _closed(self) -> HTTPConnection:
        http = HTTPConnection(self._host, self._port)
        # Without this it would connect by itself, to whatever address the name has then.
        http.auto_open = 0
        http.response_class = Answer
        http.default_port = 443 if self._secure else 80
        return http

    def _ask(self, end: float, path: str, content: bytes, headers: Mapping[str, str]) -> int:
        if self._http.sock is None:
            self._connect(end)
        with cut_at(end, self._http.sock):
            self._http.request("POST", path, content, dict(headers))
            with closing(self._http.getresponse()) as answer:
                if monotonic() >= end:
                    # http.client takes a connection that was cut within the headers for their end.
                    raise TimeoutError
                whole = _is_read(answer)
            if not whole:
                self.close()
            return answer.status

    def _connect(self, end: float) -> None:
        addresses = self._addresses()
        for place, address in enumerate(addresses, start=1):
            seconds = min(self._settings.connect_seconds, seconds_until(end))
            try:
                self._http.sock = socket.create_connection((address, self._port), seconds)
                break
            except OSError:
                if place == len(addresses):
                    raise
        # http.client sends head and body apart, and without this the body waits for the head's acknowledgement.
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._secure:
            self._http.sock = tls_context(self._settings.cafile).wrap_socket(
                self._http.sock, server_hostname=self._host, do_handshake_on_connect=False
            )
            with cut_at(end, self._http.sock):
                self._http.sock.do_handshake()

    def _addresses(self) -> Sequence[str]:
        """Return the addresses of the receiver that may be reached; raises DeliveryError if there are none."""
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise DeliveryError(NOWHERE) from error
        known = self._settings
        each_address = (str(each[4][0]) for each in found)
        usable = [each for each in each_address if may_be_reached(each, known.allowed_networks, known.refused_networks)]
        if not usable:
            raise DeliveryError(NOWHERE)
        return usable


def _is_read(answer: HTTPResponse) -> bool:
    """Read what follows the status, which alone counts; say whether the connection can be used again.

    Only a body of a known size is read: for one in chunks, http.client allocates what the receiver wants.
    """
    if answer.length is None or answer.length > LARGEST_ANSWER:
        return False
    try:
        answer.read(LARGEST_ANSWER)
    except (OSError, HTTPException):
        return False
    return answer.isclosed()


def _sentence(error: Exception, *, late: bool) -> str:
    """Return what went wrong, in words that say nothing about the network of the service."""
    if late or isinstance(error, TimeoutError):
        return "The receiver did not answer in time."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate of the receiver was not accepted: {error.verify_message}."
    if isinstance(error, ssl.SSLError):
        return "The receiver does not speak TLS as it should."
    if isinstance(error, ConnectionRefusedError):
        return "The receiver refused the connection."
    if isinstance(error, HTTPException):
        return "The receiver's answer is not HTTP."
    return "The connection to the receiver broke."
