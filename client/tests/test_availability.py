"""`availability`, and `lease create` with `--earliest` and `--dry-run`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked

if TYPE_CHECKING:
    from client.tests.conftest import Inside, Shell
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


GPUS = ("--properties", "gpu_model in A100,H100,L40S")
OR_LARGE = ("--or", "min=3,resource_properties=vcpus>=64")


def test_the_first_windows_of_several_that_would_do(inside: Inside, client: Client) -> None:
    busy = booked(client, "busy", timedelta(0), amount=12)
    words = ("--hosts", "3", *GPUS, *OR_LARGE, "--or", "resource_type=virtual:floatingip,network_id=none,amount=1")
    found = inside.ok("window", "search", *words, "--for", "1h", "--limit", "2", "-f", "json")
    end = f"{busy.end:%Y-%m-%dT%H:%M:%SZ}"
    assert [(row["from"], row["what"]) for row in found.json] == [(end, "1. 3 hosts"), (end, "2. 3 hosts")]
    assert found.err.startswith("3. Not enough floating IPs available: 1 asked, 0 free")
    alone = inside.ok("window", "search", "--hosts", "13", "--for", "1h", "-f", "json")
    assert (alone.json, alone.err.startswith("Not enough hosts available: 13 asked")) == ([], True)
    # With little time before the end that is asked for, the longest window that is left.
    less = ("--before", f"{busy.end + timedelta(minutes=30):%Y-%m-%dT%H:%M}Z", "--at-least", "10m")
    (row,) = inside.ok("window", "search", "--hosts", "1", "--for", "1h", *less, "-f", "json").json
    assert (row["from"], row["lasts"]) == (end, "30 min")


def test_the_first_of_several_that_would_do_is_leased(inside: Inside, client: Client) -> None:
    gpus = ("--reservation", "resource_type=physical:host,min=2,resource_properties=gpu_count>=1")
    inside.ok("lease", "create", "busy", *gpus, "--for", "3h")
    wish = ("--hosts", "3", *GPUS, *OR_LARGE, "--for", "1h", "--earliest", "--before", "in 3 h")
    refused = inside("lease", "create", "either", *wish)
    assert refused.status == 1
    first, second, *_ = refused.err.splitlines()
    assert first.startswith("1. Not enough hosts available: 3 asked, 1 free")
    assert second.startswith("2. Not enough hosts available: 3 asked, 2 free")
    two = ("--hosts", "3", *GPUS, "--or", "min=2,resource_properties=vcpus>=64", *wish[-5:])
    dry = inside.ok("lease", "create", "either", *two, "--dry-run", "-f", "json")
    assert dry.json["what"] == "2 hosts"
    made = inside.ok("lease", "create", "either", *two, "-f", "json")
    assert made.err.startswith("The first window that is free for 2 hosts: ")
    assert made.json["reservations"][0]["resource_properties"] == '[">=", "$vcpus", "64"]'
    held = inside.ok("offer", "create", "later", "--hosts", "12", "--for", "1h", "--earliest", "-f", "json")
    (busy,) = [each for each in client.leases.list() if each.name == "busy"]
    # Windows begin on whole minutes.
    free = busy.end + timedelta(seconds=-int(busy.end.timestamp()) % 60)
    assert held.json["start_date"] == f"{free:%Y-%m-%dT%H:%M:%SZ}"
    alone = inside("lease", "create", "either", "--hosts", "3", "--before", "in 3 h")
    assert (alone.status, "are for --earliest" in alone.err) == (1, True)
    of_template = inside("lease", "create", "either", "--template", "any", "--earliest", "--or", "min=1", "--for", "1h")
    assert (of_template.status, "Leave --template out" in of_template.err) == (1, True)


def test_by_what_to_choose(inside: Inside) -> None:
    found = {row["property"]: row["values"] for row in inside.ok("property", "list", "-f", "json").json}
    assert found["gpu_model"] == ["A100", "H100", "L40S"]
    assert found["vcpus"] == ["4", "8", "16", "32", "64", "128"]
    assert "hypervisor_hostname" not in found
    lines = inside.ok("property", "list", "virtual:instance").out.splitlines()
    assert any("a1, a2, b1, b2" in line for line in lines)
    assert any("…" in line for line in lines if "cpu_info" in line)
    for words in (("availability",), ("lease", "create", "none", "--hosts", "1")):
        unknown = inside(*words, "--properties", "gpu=true")
        assert unknown.status == 1
        assert unknown.err.endswith("\nTo see which there are: leasehold property list\n")
