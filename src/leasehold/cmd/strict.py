"""Requests whose end is a matter of opinion are refused: what a proxy takes for a body may be another request to us."""

from __future__ import annotations

from waitress.parser import HTTPRequestParser, ParsingError


class StrictParser(HTTPRequestParser):  # type: ignore[misc]  # waitress comes without annotations.
    """Reads requests as waitress does, and answers 400 and closes where RFC 9112 (6.3) leaves two ways to read them."""

    def parse_header(self, header_plus: bytes) -> None:
        """Take the headers in; raises ParsingError for a body with a length and chunks, or with two codings."""
        super().parse_header(header_plus)
        names = [line.partition(b":")[0].strip().lower() for line in header_plus.split(b"\r\n")[1:]]
        codings = names.count(b"transfer-encoding")
        if codings > 1 or (codings and b"content-length" in names):
            message = "Content-Length and Transfer-Encoding contradict each other."
            raise ParsingError(message)
