"""A running API with passwords, and plain connections to an API."""

from __future__ import annotations

import contextlib
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.processes import prepare_database, running
from tests.users import users_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Program

WITHIN = 60.0


@contextlib.contextmanager
def api_with_passwords(
    folder: Path, alice: str = "right:demo:member,reader", *, afresh: bool = False, **api: object
) -> Iterator[Program]:
    """Run an API on a new database in this folder; `alice` may log in, and `api` are more options of its section."""
    url = f"sqlite:///{folder}/leasehold.db"
    prepare_database(url)
    section = {"auth_strategy": "http_basic", "users_file": users_file(folder, {"alice": alice}), **api}
    options: dict[str, dict[str, object]] = {"DEFAULT": {"debug": True}, "api": section}
    with running("leasehold-api", database_url=url, options=options, afresh=afresh) as started:
        yield started


def connect(api: Program) -> socket.socket:
    place = urlsplit(api.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=WITHIN)


def answers(api: Program, content: bytes) -> list[int]:
    """Send bytes on one connection, and return the statuses of all answers until it is closed."""
    received = b""
    with connect(api) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(65536):
            received += chunk
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)]
