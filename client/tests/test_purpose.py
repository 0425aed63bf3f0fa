"""`--purpose`: what leases are for, by each command that makes or changes them (feature I9)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow

HOSTS = ("--hosts", "1", "--from", "in 2 d", "--for", "1h")
WHY = "Measure the switch"


def purposes(client: Client) -> dict[str, str | None]:
    return {each.name: each.purpose for each in client.leases.list()}


def test_a_lease_is_made_shown_listed_changed_and_made_again_with_it(shell: Shell, client: Client) -> None:
    assert shell.ok("lease", "create", "mine", *HOSTS, "--purpose", WHY, "-f", "json").json["purpose"] == WHY
    booked(client, "other", timedelta(days=9))
    assert WHY in shell.ok("lease", "show", "mine").out
    listed = shell.ok("lease", "list", "--long", "-f", "json").json
    assert {each["name"]: each["purpose"] for each in listed} == {"mine": WHY, "other": None}
    assert "purpose" not in shell.ok("lease", "list", "-f", "json").json[0]
    found = shell.ok("lease", "list", "--purpose", WHY, "-f", "json").json
    assert [each["name"] for each in found] == ["mine"]
    shell.ok("lease", "create", "again", "--like", "mine", "--from", "in 4 d")
    shell.ok("lease", "create", "else", "--like", "mine", "--from", "in 5 d", "--purpose", "else")
    shell.ok("lease", "set", "mine", "--purpose", "")
    assert purposes(client) == {"mine": None, "other": None, "again": WHY, "else": "else"}
    refused = shell("lease", "set", "else", "--purpose", "x" * 256)
    assert (refused.status, "purpose" in refused.err) == (1, True)


def test_offers_flexible_leases_series_and_templates_have_it(shell: Shell, client: Client) -> None:
    said = ("--purpose", WHY)
    offer = shell.ok("offer", "create", "offered", *HOSTS, *said, "-f", "json").json["id"]
    shell.ok("offer", "accept", offer)
    shell.ok("flexible", "create", "any", "--hosts", "1", "--latest", "in 9 d", "--for", "1h", *said)
    shell.ok("series", "create", "daily", "--rule", "FREQ=DAILY;COUNT=2", *HOSTS, *said)
    shell.ok("template", "create", "kept", "--hosts", "1", "--for", "1h", *said)
    shell.ok("lease", "create", "from it", "--template", "kept", "--from", "in 8 d")
    assert set(purposes(client).values()) == {WHY}
    assert shell.ok("series", "show", "daily", "-f", "json").json["purpose"] == WHY
    shell.ok("series", "set", "daily", "--purpose", "Lab")
    assert {name: why for name, why in purposes(client).items() if why != WHY} == {
        "daily 1/2": "Lab",
        "daily 2/2": "Lab",
    }
    assert shell.ok("template", "show", "kept", "-f", "json").json["purpose"] == WHY
    shell.ok("template", "set", "kept", "--remove", "purpose")
    assert shell.ok("template", "show", "kept", "-f", "json").json.get("purpose") is None
