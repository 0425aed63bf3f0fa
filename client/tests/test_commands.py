"""Every other command against a running service, and the table of commands."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked, minute
from leasehold.cloud.sandbox import seed
from leasehold_client.cli.commands import BLAZARS, OURS
from tests.processes import BIN, wait_for

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client
    from leasehold_client.lease import Lease

pytestmark = pytest.mark.slow


def test_openstacks_command_line_has_every_command() -> None:
    """Its commands are found in the metadata of the package, and have `reservation` before their names."""
    for group, commands in (("openstack.leasehold.v1", OURS), ("openstack.leasehold.v1.blazars_names", BLAZARS)):
        found = {entry.name: entry.load() for entry in entry_points(group=group)}
        assert found == {f"reservation_{name.replace(' ', '_')}": command for name, command in commands.items()}


def test_every_command_of_blazar_has_ours_of_the_same_name() -> None:
    names = {entry.name for entry in entry_points(group="openstack.reservation.v1")}
    assert names == {f"reservation_{name.replace(' ', '_')}" for name in BLAZARS}


# ---------------------------------------------------------------- leases


def test_lease_set(shell: Shell, client: Client) -> None:
    lease = booked(client, "old", timedelta(days=1))
    change = f"id={lease.reservations[0].id},min=2,max=3"
    words = ("--name", "new", "--reservation", change, "--prolong-for", "2h", "--defer-by", "1h")
    assert shell.ok("lease", "set", "old", *words).out == "Updated lease: old\n"
    changed = client.leases.get(lease.id)
    assert (changed.name, changed.start - lease.start, changed.end - lease.end) == (
        "new",
        timedelta(hours=1),
        timedelta(hours=2),
    )
    assert changed.reservations[0].values["max"] == 3
    shell.ok("lease", "set", "new", "--reduce-by", "2h", "--advance-by", "1h")
    again = client.leases.get(lease.id)
    assert (again.start, again.end) == (lease.start, lease.end)
    later = minute() + timedelta(days=3)
    dates = ("--start-date", f"{later:%Y-%m-%d %H:%M}", "--end-date", f"{later + timedelta(hours=1):%Y-%m-%d %H:%M}")
    shell.ok("lease", "set", lease.id, *dates)
    assert client.leases.get(lease.id).start == later
    day = (later + timedelta(days=1)).date()
    shell.ok("lease", "set", "new", "--from", f"{day} 10:00", "--until", f"{day} 14:00")
    here = client.leases.get(lease.id)
    ten = datetime.fromisoformat(f"{day}T10:00+05:45")
    assert (here.start, here.end) == (ten, ten + timedelta(hours=4))
    said = shell("lease", "set", "new")
    assert (said.status, said.err.startswith("Say what to change")) == (1, True)


def test_lease_extend_and_what_would_work_instead(shell: Shell, client: Client) -> None:
    lease = booked(client, "mine", timedelta(days=1), amount=12)
    assert shell.ok("lease", "extend", "mine", "--for", "2h", "-f", "json").json["id"] == lease.id
    assert client.leases.get(lease.id).end == lease.end + timedelta(hours=2)
    next_one = booked(client, "next", timedelta(days=1, hours=8))
    refused = shell("lease", "extend", "mine", "--for", "2d")
    assert refused.status == 1
    *_, sentence, command = refused.err.splitlines()
    assert sentence.endswith(" it can be extended.")
    assert command.startswith("  leasehold lease extend mine --until '")
    shell.ok("lease", "extend", "mine", "--until", command.split("'")[1])
    assert client.leases.get(lease.id).end == next_one.start
    earlier = shell("lease", "extend", "mine", "--until", "in 2 h")
    assert (earlier.status, "no later than the lease ends already" in earlier.err) == (1, True)


def test_a_lease_for_another_project(shell: Shell, client: Client) -> None:
    create = ("lease", "create", "theirs", "--project", "other", "--for", "1h")
    made = shell.ok(*create, "--hosts", "1", "-f", "json").json
    assert client.leases.get(made["id"]).project_id == "other"
    refused = shell(*create, "--hosts", "12")
    # What would work is for that project as well.
    assert refused.status
    assert all("--project other" in line for line in refused.err.splitlines() if "lease create" in line)
    assert "lease create theirs" in refused.err


def test_the_first_window_of_another_project(shell: Shell, client: Client) -> None:
    host = client.hosts.list()[0]
    client.hosts.change(host.id, {"projects": ["other"]})
    try:
        # Of a day, as the first window from now on is another one in the next minute.
        day = f"{minute() + timedelta(days=1):%Y-%m-%dT%H:%MZ}"
        of_all = ("--hosts", "12", "--from", day, "--for", "1h", "-f", "json")
        assert shell.ok("window", "search", *of_all).json == []
        (found,) = shell.ok("window", "search", *of_all, "--limit", "1", "--project", "other").json
        made = shell.ok("lease", "create", "theirs", "--earliest", "--project", "other", *of_all).json
        lease = client.leases.get(made["id"])
        assert (lease.project_id, lease.end) == ("other", datetime.fromisoformat(found["until"]))
    finally:
        client.hosts.change(host.id, {"projects": None})


def test_lease_sublease(shell: Shell, client: Client) -> None:
    booked(client, "lender", timedelta(0), 2)
    wait_for(lambda: client.leases.find("lender").status == "ACTIVE")
    made = (
        "lease",
        "sublease",
        "create",
        "lender",
        "lab",
        "--project",
        "other",
        "--hosts",
        "1",
        "--until",
        "in 30 min",
    )
    lent = shell.ok(*made, "-f", "json").json
    assert (lent["project_id"], lent["amount"]) == ("other", 1)
    (listed,) = shell.ok("lease", "sublease", "list", "lender", "-f", "json").json
    assert listed["id"] == lent["id"]
    (found,) = client.leases.sub_leases(client.leases.find("lender").id)
    assert (found.id, found.end < client.leases.find("lender").end) == (lent["id"], True)
    assert "--project" in shell("lease", "sublease", "create", "lender", "lab", "--hosts", "1").err
    by_name = shell("lease", "sublease", "delete", "lender", "lab")
    assert by_name.status
    assert lent["id"] in by_name.err
    shell.ok("lease", "sublease", "delete", "lender", lent["id"])
    wait_for(lambda: not client.leases.sub_leases(client.leases.find("lender").id))


def test_what_is_lent_with_a_notice_is_taken_back_after_it(shell: Shell, client: Client) -> None:
    theirs = booked(client, "theirs", timedelta(0), 2, project_id="other")
    wait_for(lambda: client.leases.get(theirs.id).status == "ACTIVE")
    made = shell.ok("lease", "sublease", "offer", theirs.id, "spare", "--hosts", "1", "--notice", "5 min", "-f", "json")
    assert made.json["notice_seconds"] == 300
    claimed = shell.ok("published", "offer", "claim", "spare", "-f", "json").json
    before = client.leases.get(claimed["id"]).end
    told = shell.ok("lease", "sublease", "delete", theirs.id, claimed["id"]).out
    assert told.startswith("Sub-lease ends at ")
    assert claimed["id"] in told
    lease = client.leases.get(claimed["id"])
    assert lease.values["taken_back_at"] is not None
    assert lease.end < before
    # The holder, and an operator, end it at once.
    client.leases.delete(claimed["id"])
    wait_for(lambda: not client.leases.sub_leases(theirs.id))
    client.leases.delete(theirs.id)
    wait_for(lambda: not client.leases.list())


def test_lease_sublease_offer(shell: Shell, client: Client) -> None:
    booked(client, "lender", timedelta(0), 2)
    wait_for(lambda: client.leases.find("lender").status == "ACTIVE")
    offer = ("lease", "sublease", "offer", "lender", "spare", "-f", "json")
    assert "--hosts" in shell(*offer).err
    made = shell.ok(*offer, "--hosts", "2", "--for", "30 min").json
    assert (made["left"], len(made["free"]), made["lease_id"]) == (2, 1, client.leases.find("lender").id)
    too_many = shell(*offer, "--hosts", "1")
    assert (too_many.status, "2 are offered at that time already" in too_many.err) == (1, True)
    (row,) = shell.ok("published", "offer", "list", "--status", "available", "-f", "json").json
    assert (row["name"], row["left"]) == ("spare", 2)
    own = shell("published", "offer", "claim", "spare")
    assert (own.status, "The project has the lease already" in own.err) == (1, True)
    assert shell.ok("published", "offer", "delete", "spare").out == "Deleted published offer: spare\n"


def test_hosts_of_a_lease_of_another_project_are_claimed(shell: Shell, client: Client) -> None:
    theirs = booked(client, "theirs", timedelta(0), 2, project_id="other")
    wait_for(lambda: client.leases.get(theirs.id).status == "ACTIVE")
    shell.ok("lease", "sublease", "offer", theirs.id, "spare", "--hosts", "2")
    claimed = shell.ok("published", "offer", "claim", "spare", "--hosts", "2", "--for", "10 min", "-f", "json").json
    assert client.leases.get(claimed["id"]).values["parent_id"] == theirs.id
    refused = shell("published", "offer", "claim", "spare", "--hosts", "2")
    assert (refused.status, "nothing of it is free now" in refused.err) == (1, True)
    client.leases.delete(theirs.id)
    # Its sub-lease goes with it.
    wait_for(lambda: not client.leases.list())


def test_lease_swap(shell: Shell, client: Client) -> None:
    lease = booked(client, "mine", timedelta(0))
    wait_for(lambda: client.leases.get(lease.id).status == "ACTIVE")
    name = host_of(client, lease)
    refused = shell("lease", "swap", "mine", "--host", "none-such")
    assert (refused.status, "'none-such'" in refused.err) == (1, True)
    assert shell.ok("lease", "swap", "mine", "--host", name, "-f", "json").json["status"] == "ACTIVE"
    assert host_of(client, lease) != name


def host_of(client: Client, lease: Lease) -> str:
    """Return the name of the host that the lease has from now on."""
    (found,) = [
        each.host_id
        for each in client.allocations.list(lease_id=lease.id)
        if any(booking.end > datetime.now(UTC) for booking in each.bookings)
    ]
    return client.hosts.get(found).name


def test_lease_delete(shell: Shell, client: Client) -> None:
    booked(client, "gone", timedelta(days=1))
    assert shell.ok("lease", "delete", "gone").out == "Deleted lease: gone\n"
    assert client.leases.list() == []


def test_lease_events(shell: Shell, client: Client) -> None:
    lease = booked(client, "told", timedelta(days=1))
    client.leases.change(lease.id, name="renamed")
    lines = shell.ok("lease", "events", lease.id).out.splitlines()
    assert [line.split("  ", 1)[1].split() for line in lines] == [
        ["lease.create", "told", "PENDING"],
        ["lease.renamed", "renamed", "PENDING"],
    ]
    first = json.loads(shell.ok("lease", "events", lease.id, "--json").out.splitlines()[0])
    assert (first["type"], first["lease_id"]) == ("lease.create", lease.id)


def test_lease_events_are_followed(shell: Shell, client: Client) -> None:
    """What happens while the command runs is printed when it happens."""
    lease = booked(client, "followed", timedelta(days=1))
    command = [str(BIN / "leasehold"), "lease", "events", "followed", "--follow", "--json"]
    with subprocess.Popen(command, env={**shell.environ}, stdout=subprocess.PIPE, text=True) as follower:
        try:
            assert follower.stdout is not None
            assert json.loads(follower.stdout.readline())["type"] == "lease.create"
            client.leases.change(lease.id, name="renamed")
            assert json.loads(follower.stdout.readline())["payload"]["name"] == "renamed"
        finally:
            follower.kill()


# ---------------------------------------------------------------- what is enrolled


def test_hosts(shell: Shell, client: Client) -> None:
    rows = shell.ok("host", "list", "-f", "json").json
    assert [row["hypervisor_hostname"] for row in rows] == sorted(name for name, _ in seed.SUGGESTED_HOSTS)
    named, numbered = (shell.ok("host", "show", word, "-f", "json").json for word in ("cmp-01", "1"))
    assert named == numbered
    assert shell.ok("host", "set", "cmp-01", "--extra", "rack=r7,left").out == "Updated host: cmp-01\n"
    assert client.hosts.find("cmp-01").values["rack"] == "r7,left"
    shell.ok("host", "unset", "cmp-01", "--extra", "rack")
    assert "rack" not in client.hosts.find("cmp-01").values
    shell.ok("host", "set", "cmp-01", "--disable", "a fan is loud")
    assert client.hosts.find("cmp-01").values["disabled_reason"] == "a fan is loud"
    shell.ok("host", "set", "cmp-01", "--enable")
    assert client.hosts.find("cmp-01").reservable
    assert shell.ok("host", "delete", "cmp-01").out == "Deleted host: cmp-01\n"
    made = shell.ok("host", "create", "cmp-01", "--extra", "rack=r8", "-f", "json").json
    assert (made["hypervisor_hostname"], made["rack"]) == ("cmp-01", "r8")
    # As it was: other tests count racks.
    shell.ok("host", "set", "cmp-01", "--extra", "rack=a1")
    nothing = shell("host", "set", "cmp-01")
    assert (nothing.status, nothing.err.startswith("Say what to set")) == (1, True)
    for set_twice in (("host", "set", "cmp-01", "--extra"), ("resource", "set", "physical:host", "1", "--property")):
        twice = shell(*set_twice, "rack=a2", set_twice[-1], "rack=a3")
        assert (twice.status, "The property rack is set twice" in twice.err) == (1, True)


def test_properties(shell: Shell) -> None:
    shell.ok("host", "set", "cmp-02", "--extra", "site=north")
    assert "site" in shell.ok("host", "property", "list", "-f", "value").out.split()
    (row,) = [
        row for row in shell.ok("host", "property", "list", "--detail", "-f", "json").json if row["property"] == "site"
    ]
    assert row == {"property": "site", "private": False, "property_values": ["north"]}
    assert shell.ok("host", "property", "set", "site", "--private").out == "Updated host property: site\n"
    assert "site" not in shell.ok("host", "property", "list", "-f", "value").out.split()
    assert "site" in shell.ok("host", "property", "list", "--all", "-f", "value").out.split()
    assert shell.ok("host", "property", "show", "site", "-f", "json").json["private"] is True
    shell.ok("host", "property", "set", "site", "--public")
    absent = shell("host", "property", "show", "none-such")
    assert (absent.status, absent.err.startswith("No host has a property 'none-such'")) == (1, True)


def test_floating_ips(shell: Shell) -> None:
    made = shell.ok("floatingip", "create", seed.NETWORK_ID, "203.0.113.161", "-f", "json").json
    shown = shell.ok("floatingip", "show", made["id"], "-f", "json").json
    assert shown["floating_ip_address"] == made["floating_ip_address"] == "203.0.113.161"
    listed = shell.ok("floatingip", "list", "--sort-by", "floating_ip_address", "-f", "json").json
    assert made["id"] in {row["id"] for row in listed}
    assert shell.ok("floatingip", "delete", made["id"]).out == f"Deleted floatingip: {made['id']}\n"
    assert shell("floatingip", "show", made["id"]).status == 1


def test_allocations(shell: Shell, client: Client) -> None:
    here, there = booked(client, "here", timedelta(days=1)), booked(client, "there", timedelta(days=2))
    rows = shell.ok("allocation", "list", "host", "-f", "json").json
    assert len(rows) == len(seed.HOSTS)
    narrowed = shell.ok("allocation", "list", "host", "--lease-id", here.id, "-f", "json").out
    assert (here.id in narrowed, there.id in narrowed) == (True, False)
    (row,) = [row for row in rows if any(each["lease_id"] == there.id for each in row["reservations"])]
    shown = shell.ok("allocation", "show", "host", row["resource_id"], "--reservation-id", there.reservations[0].id)
    assert there.id in shown.out
    assert here.id not in shown.out
    local = there.start + timedelta(hours=5, minutes=45)
    assert f"| {local:%Y-%m-%d %H:%M} +0545 until " in shell.ok("allocation", "list", "host").out
    assert f"  lease {there.id}" in shown.out


# ---------------------------------------------------------------- the calendar


def test_the_calendar_is_as_wide_as_the_terminal(shell: Shell, client: Client) -> None:
    booked(client, "busy", timedelta(0), amount=12)
    narrow = shell.with_environ(COLUMNS="60").ok("calendar", "--for", "6h", "--ascii").out.splitlines()
    assert max(map(len, narrow)) <= 60
    row = next(line for line in narrow if line.startswith("cmp-01 "))
    assert row.count("#") > 0 < row.count(".")
    assert narrow[0].startswith(f"From {datetime.now(UTC) + timedelta(hours=5, minutes=45):%Y-%m-%d}")
    wide = shell.with_environ(COLUMNS="150", PYTHONIOENCODING="utf-8").ok("calendar", "--until", "in 2 d").out
    assert 60 < max(map(len, wide.splitlines())) <= 150
    assert "█" in wide


def test_the_calendar_is_drawn_again_when_something_happens(shell: Shell, client: Client) -> None:
    command = [str(BIN / "leasehold"), "calendar", "--watch", "--ascii"]
    with subprocess.Popen(command, env={**shell.environ}, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            first = [watching.stdout.readline() for _ in range(3 + len(seed.HOSTS))]
            assert not any("#" in line for line in first[3:-1])
            booked(client, "new", timedelta(days=1), amount=12)
            while "#" not in (line := watching.stdout.readline()):
                assert line
        finally:
            watching.kill()
