"""Waits go on when the service is away for a moment: it is restarted, or its database is."""

from __future__ import annotations

import re
import threading
from collections import deque
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.session import Session

from leasehold_client import Client
from leasehold_client.calls import transport
from leasehold_client.errors import UnreachableError
from tests.relay import CUT, Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from client.tests.conftest import Inside

pytestmark = pytest.mark.slow

SILENT = 1, b""
"""The trouble of a host that has vanished: the request is accepted, and nothing answers."""
AWAY = HTTPStatus.SERVICE_UNAVAILABLE, b""
ANOTHER = HTTPStatus.OK, b"<html>This is not the service.</html>"
BROKEN = HTTPStatus.INTERNAL_SERVER_ERROR, b""

WAIT = ("--wait", "--wait-timeout", "1m")
"""In this process nothing else ends a wait."""
POLL = r"/v1/events\?.*wait="
ONE_LEASE = "/v1/leases/"


@contextmanager
def unreliable(endpoint: str, faults: deque[tuple[int, bytes]], where: str = POLL) -> Iterator[str]:
    """Yield the URL of a relay to the service: each request there meets one of the faults, as long as there are any."""

    class Unreliable(Relay):
        def target(self) -> str:
            return f"{endpoint.removesuffix('/v1')}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            fault = faults.popleft() if faults and re.match(where, self.path) else None
            if fault != SILENT:
                return fault
            over.wait()
            return CUT

    over = threading.Event()
    with listening(Unreliable) as port:
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            over.set()


@pytest.mark.parametrize("fault", [ANOTHER, BROKEN])
def test_a_wait_that_has_to_end_says_how_to_go_on(
    inside: Inside, endpoint: str, monkeypatch: pytest.MonkeyPatch, fault: tuple[int, bytes]
) -> None:
    with unreliable(endpoint, deque([fault])) as url:
        monkeypatch.setenv("OS_ENDPOINT", url)
        said = inside("lease", "create", "waits", "--hosts", "1", "--for", "1h", *WAIT)
    assert said.status == 1
    assert "The lease waits goes on without this command; see lease show " in said.err


@pytest.mark.parametrize("where", [POLL, ONE_LEASE])
def test_a_wait_goes_on_through_a_restart(
    inside: Inside, endpoint: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    faults = deque([CUT, AWAY])
    with unreliable(endpoint, faults, where) as url:
        monkeypatch.setenv("OS_ENDPOINT", url)
        made = inside.ok("lease", "create", "waits", "--hosts", "1", "--for", "1h", *WAIT, "-f", "json")
    assert (made.json["status"], faults) == ("ACTIVE", deque())


def test_a_patient_request_is_sent_again_where_nothing_answers(
    client: Client, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = {**transport._PATIENT, "timeout": (5.0, 0.3), "connect_retry_delay": 0.01}
    monkeypatch.setattr(transport, "_PATIENT", hurried)
    faults = deque([SILENT, SILENT])
    with unreliable(endpoint, faults, "/v1/leases") as url:
        login: Any = get_plugin_loader("none").load_from_options(endpoint=url)
        assert Client(Session(auth=login), patient=True).leases.list() == client.leases.list()
        assert not faults
        # Whoever is not patient waits as long as its session does.
        faults.append(SILENT)
        with pytest.raises(UnreachableError):
            Client(Session(auth=login, timeout=0.3)).leases.list()
