"""A request to a server that may be hostile: it ends in time, takes little of the processor, and reads it all."""

from __future__ import annotations

import gzip
import time

import pytest
import requests

from leasehold.http.bounded import requested
from tests.serving import raw

LONGEST = 16 * 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\n"
PACKED = gzip.compress(b" " * 12 * LONGEST)


def read(url: str, seconds: float, longest: int = LONGEST) -> bytes:
    with requested("GET", url, None, {}, seconds, None) as answer:
        return answer.read(longest)


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ((OK, b"Content-Length: 3\r\n\r\nabcdef"), b"abc"),
        ((OK, b"Transfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n"), b"abc"),
        ((b"HTTP/1.0 200 OK\r\n\r\nabc",), b"abc"),
        ((b"HTTP/1.1 100 Continue\r\n\r\n", OK, b"Content-Length: 0\r\n\r\n"), b""),
        ((OK, b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED), PACKED), PACKED),
    ],
    ids=["sized", "in chunks", "until the end", "nothing", "packed"],
)
def test_a_body_is_read_as_it_was_sent(parts: tuple[bytes, ...], content: bytes) -> None:
    with raw(*parts) as url:
        assert read(url, 30.0) == content
        if content:
            with pytest.raises(ValueError, match="too long"):
                read(url, 30.0, len(content) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "endless"),
    [
        ((OK, b"\r\n"), b"x" * 100),
        ((OK, b"Content-Length: 100000000\r\n\r\n"), b""),
        ((OK, b"Transfer-Encoding: chunked\r\n\r\n"), b"1\r\nx\r\n" * 10_000),
        ((OK, b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"), b"x" * 100),
        ((OK, b'Content-Type: multipart/x; a="\r\n', *[b" " + b";" * 60_000 + b"\r\n"] * 3, b"\r\n"), b""),
    ],
    ids=["a trickle", "cut off", "small chunks", "a negative chunk", "a long head"],
)
def test_what_does_not_end_costs_the_limit_of_time_and_little_else(parts: tuple[bytes, ...], endless: bytes) -> None:
    with raw(*parts, endless=endless) as url:
        begun, used = time.monotonic(), time.thread_time()
        with pytest.raises(requests.RequestException):
            read(url, 0.3)
        assert time.monotonic() - begun < 10
        assert time.thread_time() - used < 3
