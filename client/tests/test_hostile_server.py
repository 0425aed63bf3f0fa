"""What answers at the endpoint neither steers the terminal nor has the login sent to another place."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.session import Session

from client.tests.booking import booked
from leasehold_client import Client
from leasehold_client.errors import UnreachableError
from tests.processes import wait_for
from tests.relay import Relay, listening

if TYPE_CHECKING:
    from collections.abc import Mapping

    from client.tests.conftest import Inside

pytestmark = pytest.mark.slow

STEERING = "\x1b]0;owned\x07 \x1b[2J\u202egnp"


@pytest.mark.parametrize("kind", ["refusal", "unknown property", "proxy"])
def test_a_text_of_an_error_does_not_steer_the_terminal(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    details = {"unknown_property": STEERING} if kind == "unknown property" else {}
    said = {"error_message": STEERING, "code": "x", "details": details}
    answer = {"error": {"message": STEERING}} if kind == "proxy" else said

    class Hostile(Relay):
        def target(self) -> None:
            return None

        def trouble(self) -> tuple[int, bytes]:
            return 400, json.dumps(answer).encode()

    with listening(Hostile) as port:
        monkeypatch.setenv("OS_ENDPOINT", f"http://127.0.0.1:{port}/v1")
        for words in (("lease", "list"), ("lease", "create", "mine", "--hosts", "1")):
            refused = inside(*words)
            assert (refused.status, refused.out) == (1, "")
            assert r"\x1b]0;owned\x07 \x1b[2J\u202egnp" in refused.err


def test_a_name_does_not_steer_the_terminal(
    inside: Inside, client: Client, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service refuses such names now; it may have some from before."""
    name = "\x1b[31mred\x9b0m\rgone\nno line \u202etxt"
    shown = r"\x1b[31mred\x9b0m\rgone\nno line \u202etxt"
    booked(client, "odd", timedelta(days=1))

    class Renaming(Relay):
        def target(self) -> str:
            return f"{endpoint.removesuffix('/v1')}{self.path}"

        def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
            super()._answer(status, headers, content.replace(b'"odd"', json.dumps(name).encode()))

    with listening(Renaming) as port:
        monkeypatch.setenv("OS_ENDPOINT", f"http://127.0.0.1:{port}/v1")
        for words in (("lease", "list"), ("lease", "show", name)):
            assert shown in inside.ok(*words).out
        # What happened is told when it has its place in the order of the log.
        wait_for(lambda: shown in inside.ok("lease", "events", name).out)
        assert "\x1b" not in inside.ok("lease", "history", name).out
        # Programs get what it is.
        assert [row["name"] for row in inside.ok("lease", "list", "-f", "json").json] == [name]


@pytest.mark.parametrize("method", ["get", "post"])
def test_no_redirect_takes_the_login_elsewhere(method: str) -> None:
    seen: list[str | None] = []

    class Elsewhere(Relay):
        def target(self) -> None:
            seen.append(self.headers.get("Authorization"))

    class Redirecting(Elsewhere):
        def trouble(self) -> tuple[int, bytes]:
            return 307, b"{}"

        def end_headers(self) -> None:
            self.send_header("Location", place)
            super().end_headers()

    with listening(Elsewhere) as other, listening(Redirecting) as port:
        place = f"http://127.0.0.1:{other}/v1/leases"
        endpoint = f"http://127.0.0.1:{port}/v1"
        login: Any = get_plugin_loader("http_basic").load_from_options(endpoint=endpoint, username="a", password="b")
        client = Client(Session(auth=login))
        with pytest.raises(UnreachableError, match=f"leads to {place}, .*not sent there"):
            client.leases.list() if method == "get" else client.feeds.create("mine")
    assert len(seen) == 1
