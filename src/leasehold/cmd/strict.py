"""Parses requests: passes bodies to the intake, and refuses a request whose end is ambiguous (request smuggling).

What a proxy takes for the body of such a request may be another request to us.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest, Error

from leasehold.api import errors, request_ids
from leasehold.api.limits.admission_control import overloaded
from leasehold.metrics.request import FULL

if TYPE_CHECKING:
    from waitress.adjustments import Adjustments

    from leasehold.api.limits.parking import Parking
    from leasehold.cmd.intake import BodyBuffer, Intake
    from leasehold.model.errors import LeaseholdError

LONGEST_BETWEEN_CHUNKS = 16 * 1024
"""Most bytes of a chunk's size line, or of the trailer."""


class RejectedRequestError(Error):  # type: ignore[misc]  # waitress comes without annotations.
    """One of our errors, which the server itself answers in the form of the API."""

    def __init__(self, error: LeaseholdError) -> None:
        super().__init__(error.message)
        self._error = error

    def to_response(self, _ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return the status line, the headers and the body."""
        answer = errors.answer_for(self._error)
        headers = {
            "Content-Type": "application/json",
            request_ids.HEADER: request_ids.begin(None),
            **answer.headers,
        }
        content = json.dumps(answer.body, separators=(",", ":")).encode("ascii")
        return f"{int(answer.status)} {answer.status.phrase}", list(headers.items()), content


class StrictParser(HTTPRequestParser):  # type: ignore[misc]  # As above.
    """Parses requests as waitress does, but answers 400 and closes where RFC 9112 (6.3) allows two readings."""

    def __init__(self, adj: Adjustments, intake: Intake) -> None:
        super().__init__(adj)
        self.completed = False
        self.parking: Parking | None = None
        """Where the last run of this request may be parked."""
        self._intake = intake
        self._body: BodyBuffer | None = None

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the headers; raises ParsingError for a body with a length and chunks, or with two codings."""
        super().parse_header(header_plus)
        lowered = header_plus.lower()
        if b"transfer-encoding" in lowered:
            names = [line.partition(b":")[0].strip() for line in lowered.split(b"\r\n")[1:]]
            codings = names.count(b"transfer-encoding")
            if codings > 1 or (codings and b"content-length" in names):
                message = "Content-Length and Transfer-Encoding contradict each other."
                raise ParsingError(message)
        if self.body_rcv is not None:
            self._body = self.body_rcv.buf = self._intake.body(
                self.command, self.path, self.headers, self.content_length
            )

    def received(self, data: bytes) -> int:
        """Process received data, and return how many bytes of it belong to this request."""
        consumed: int = super().received(data)
        chunks = self.body_rcv if isinstance(self.body_rcv, ChunkedReceiver) else None
        if chunks is not None and len(chunks.control_line) + len(chunks.trailer) > LONGEST_BETWEEN_CHUNKS:
            self.error = BadRequest("A chunk size line or the trailer of the body is too long.")
            self.completed = True
        if self.completed and self._body is not None:
            self._intake.complete(self._body)
            if self._body.refused and self.error is None:
                self.error = RejectedRequestError(overloaded(FULL))
        return consumed
