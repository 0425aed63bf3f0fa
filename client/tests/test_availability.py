"""`availability`, and `lease create` with `--earliest` and `--dry-run`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow


def test_how_much_is_free_and_when(shell: Shell, client: Client) -> None:
    busy = booked(client, "busy", timedelta(days=1), amount=5)
    said = shell.ok("availability", "--for", "2d", "-f", "json")
    assert [(row["free"], row["reserved"]) for row in said.json] == [(12, 0), (7, 5), (12, 0)]
    middle = said.json[1]
    assert (middle["from"], middle["lasts"]) == (f"{busy.start:%Y-%m-%dT%H:%M:%SZ}", 3 * 3600)
    assert said.err == "There are 12 hosts; one lease of all of this time would get 7.\n"
    large = shell.ok("availability", "--until", "in 3 h", "--properties", '[">=", "$vcpus", "64"]', "-f", "json")
    assert [row["free"] for row in large.json] == [3]
    room = "resource_type=virtual:instance,vcpus=4,memory_mb=8192,disk_gb=20"
    assert "instances" in shell.ok("availability", "--reservation", room).err
    over = shell("availability", "--until", "2001-01-01")
    assert (over.status, over.err.startswith("The time ends before it begins, or is over.")) == (1, True)


def test_the_earliest_window(shell: Shell, client: Client) -> None:
    busy = booked(client, "busy", timedelta(0), amount=5)
    words = ("--hosts", "12", "--for", "2h", "--earliest")
    dry = shell.ok("lease", "create", "all", *words, "--dry-run", "-f", "json")
    assert dry.json["start_date"] == f"{busy.end:%Y-%m-%dT%H:%M:%SZ}"
    assert len(client.leases.list()) == 1
    said = shell.ok("lease", "create", "all", *words, "-f", "json")
    assert said.err.startswith("The first window that is free: ")
    (lease,) = [each for each in client.leases.list() if each.name == "all"]
    assert (lease.start, lease.end) == (busy.end, busy.end + timedelta(hours=2))
    never = shell("lease", "create", "more", "--hosts", "13", "--for", "2h", "--earliest")
    assert (never.status, "13 asked" in never.err) == (1, True)


def test_a_dry_run_says_what_would_happen_and_leases_nothing(shell: Shell, client: Client) -> None:
    booked(client, "busy", timedelta(0), amount=5)
    granted = shell.ok("lease", "create", "mine", "--hosts", "7", "--for", "2h", "--dry-run", "-f", "json")
    assert granted.json["would_be_granted"] is True
    refused = shell("lease", "create", "mine", "--hosts", "8", "--for", "2h", "--dry-run")
    assert refused.status == 1
    assert refused.err.startswith("Not enough hosts available: 8 asked, 7 free")
    later = shell.ok("lease", "create", "mine", "--hosts", "8", "--from", "in 1 d", "--for", "2h", "--dry-run")
    assert "would_be_granted" in later.out
    assert [lease.name for lease in client.leases.list()] == ["busy"]
