"""The answer of a server that may be hostile: its status, and how much follows its head.

`http.client` reads a head of up to six megabytes as that of an e-mail. A server can have that take hours, which no
limit of time for the connection ends, and raise errors of any type.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from http.client import BadStatusLine, HTTPMessage, HTTPResponse, LineTooLong, RemoteDisconnected

LARGEST_HEAD = 16 * 1024
"""Bytes, those of answers such as `100 Continue` included."""
STATUS = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?![0-9])")
LENGTH = re.compile(rb"[0-9]{1,18}")
END_OF_HEAD = (b"\r\n", b"\n", b"")


class Answer(HTTPResponse):
    """An answer of which only what says how long it is, and whether the connection stays open, is kept."""

    def begin(self) -> None:
        """Read the head; raises HTTPException if it is none, or is too long."""
        self._room = LARGEST_HEAD
        (status, minor), fields = self._status(), self._fields()
        while status < HTTPStatus.OK:
            (status, minor), fields = self._status(), self._fields()
        length = fields.get(b"content-length", [])
        encoding = fields.get(b"transfer-encoding", [])
        sized = not encoding and len(length) == 1 and LENGTH.fullmatch(length[0])
        self.length = int(length[0]) if sized else None
        self.chunked = [each.lower() for each in encoding] == [b"chunked"]
        self.chunk_left = None
        self.headers = self.msg = HTTPMessage()
        # urllib3 reads the body by these, and refuses lengths that contradict each other.
        for value in [] if encoding else length:
            self.msg["Content-Length"] = value.decode("latin-1")
        if self.chunked:
            self.msg["Transfer-Encoding"] = "chunked"
        if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self.length = 0
        closing = any(b"close" in each.lower() for each in fields.get(b"connection", []))
        self.will_close = minor == 0 or closing or self.length is None
        self.version, self.reason = 10 + minor, ""
        self.status = self.code = status

    def _line(self) -> bytes:
        line = self.fp.readline(self._room + 1)
        self._room -= len(line)
        if self._room < 0:
            message = "head"
            raise LineTooLong(message)
        return line

    def _status(self) -> tuple[int, int]:
        line = self._line()
        if not line:
            message = "The receiver closed the connection without an answer."
            raise RemoteDisconnected(message)
        match = STATUS.match(line)
        if match is None:
            raise BadStatusLine(repr(line[:80]))
        return int(match[2]), int(match[1])

    def _fields(self) -> dict[bytes, list[bytes]]:
        """Return the values of each field, by its name in lower case."""
        found: dict[bytes, list[bytes]] = {}
        while (line := self._line()) not in END_OF_HEAD:
            name, _, value = line.partition(b":")
            found.setdefault(name.strip().lower(), []).append(value.strip())
        return found
