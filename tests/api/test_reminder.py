"""Feature D3 over HTTP: `reminder_seconds` of a lease, from microversion 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.test_leases import made

if TYPE_CHECKING:
    from tests.api.conftest import Client


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.2")


def shown(client: Client, lease: dict[str, Any]) -> Any:
    return client.ask("GET", f"/v1/leases/{lease['id']}").json["lease"].get("reminder_seconds", "not shown")


@pytest.mark.parametrize(
    ("sent", "kept"), [([60, 3600, 60], [3600, 60]), ([], []), ("default", "default"), (None, "default")]
)
def test_they_are_kept_longest_first_shown_and_changed(new: Client, sent: Any, kept: Any) -> None:
    lease = made(new, reminder_seconds=sent)
    assert (lease["reminder_seconds"], shown(new, lease)) == (kept, kept)
    for change, then in (([120], [120]), (None, [120]), ([], []), ("default", "default")):
        answer = new.ask("PUT", f"/v1/leases/{lease['id']}", {"reminder_seconds": change})
        assert (answer.status_code, answer.json["lease"]["reminder_seconds"]) == (200, then)
        assert shown(new, lease) == then


def test_an_amendment_of_the_dates_keeps_them(new: Client) -> None:
    lease = made(new, reminder_seconds=[60])
    answer = new.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "later", "heal_policy": "ask"})
    assert answer.json["lease"]["reminder_seconds"] == [60]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_older_versions_neither_read_nor_show_them(client: Client, new: Client, version: str) -> None:
    old = client.but(version=version)
    lease = made(old, reminder_seconds="nonsense")
    assert (shown(old, lease), shown(new, lease)) == ("not shown", "default")
