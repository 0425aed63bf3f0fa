"""Series, alarms, subscriptions, maintenance windows, what a lease has, and resources of any type."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import requests

from client.tests.booking import booked
from client.tests.conftest import ZONE
from leasehold.cloud.sandbox import seed
from tests.processes import wait_for

if TYPE_CHECKING:
    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow


def test_offer(inside: Inside, client: Client) -> None:
    wanted = ("--hosts", "2", "--from", "in 1 d", "--for", "1h", "--hold", "5m")
    made = inside.ok("offer", "create", "perhaps", *wanted, "-f", "json").json
    assert (made["state"], made["what"]) == ("open", "2 hosts")
    (row,) = inside.ok("offer", "list", "-f", "json").json
    assert (row["id"], row["name"], row["what"]) == (made["id"], "perhaps", "2 hosts")
    assert inside.ok("offer", "show", "perhaps", "-f", "json").json["expires_at"] == row["expires_at"]
    assert inside.ok("offer", "accept", "perhaps", "-f", "json").json["status"] == "PENDING"
    assert client.leases.get(made["id"]).name == "perhaps"
    inside.ok("offer", "create", "no", *wanted)
    assert inside.ok("offer", "delete", "no").out == "Deleted offer: no\n"
    assert client.offers.list() == []


def test_flexible_lease_in_pieces(inside: Inside, client: Client) -> None:
    booked(client, "mine", timedelta(days=1), amount=12)
    words = (
        "flexible",
        "create",
        "cut",
        "--hosts",
        "12",
        "--for",
        "6h",
        "--earliest",
        "in 20 h",
        "--latest",
        "in 30 h",
    )
    refused = inside(*words, "--pieces-of", "7h")
    assert (refused.status, refused.err) == (1, "--pieces-of must not be longer than --for: a piece is a part of it.\n")
    made = inside.ok(*words, "--pieces-of", "1h", "-f", "json").json
    first, second = made["pieces"]
    assert (made["name"], made["id"], first["status"]) == ("cut 1/2", first["id"], "PENDING")
    lines = inside.ok("flexible", "show", "cut 2/2").out.splitlines()
    assert [ident for ident in (first["id"], second["id"]) if any(ident in line and "until" in line for line in lines)]
    for each in (first, second):
        inside.ok("lease", "delete", each["id"])
    assert client.flexible_leases.list() == []


def test_filler(inside: Inside) -> None:
    create = ("filler", "create", "scan", "--hosts", "1", "--most", "2", "--at-least", "30min")
    made = inside.ok(*create)
    assert "1 to 2 hosts" in made.out
    assert "--hint reservation=" in made.err
    inside.ok("lease", "create", "all", "--hosts", "12", "--from", "in 5 h", "--for", "1h")
    shown = inside.ok("filler", "show", "scan", "-f", "json").json
    lines = inside.ok("filler", "show", "scan").out.splitlines()
    for each in shown["hosts"]:
        assert [line for line in lines if f"{each['id']}  " in line and ", until 20" in line and " at least" in line]
    inside.ok("filler", "delete", "scan")
    inside.ok("lease", "delete", "all")

    def ended() -> bool:
        return "ended: Its project has ended it." in inside.ok("filler", "show", shown["id"]).out

    wait_for(ended)


def test_published_offer(inside: Inside, client: Client) -> None:
    project = booked(client, "mine", timedelta(days=1)).values["project_id"]
    inside.ok("host", "set", "gpu-03", "--owner", project)
    (owned,) = inside.ok("owned", "resource", "list", "-f", "json").json
    assert (owned["name"], owned["owner"], owned["leases"]) == ("gpu-03", project, [])
    create = ("published", "offer", "create", "lent", "physical:host", "gpu-03")
    assert "--until or --for" in inside(*create).err
    made = inside.ok(*create, "--from", "in 2 d", "--for", "4h", "-f", "json").json
    assert (made["status"], len(made["free"])) == ("available", 1)
    (row,) = inside.ok("published", "offer", "list", "--status", "available", "-f", "json").json
    assert (row["id"], row["name"]) == (made["id"], "lent")
    lease = inside.ok("published", "offer", "claim", "lent", "--name", "part", "--for", "1h", "-f", "json").json
    assert (lease["name"], lease["start_date"]) == ("part", made["start_date"])
    (free,) = inside.ok("published", "offer", "show", "lent", "-f", "json").json["free"]
    assert free["start_date"] > made["start_date"]
    rest = inside.ok("published", "offer", "claim", "lent", "--from", "in 50 h", "-f", "json").json
    assert (rest["name"], rest["end_date"]) == ("lent", made["end_date"])
    assert lease["id"] in inside.ok("owned", "resource", "list").out
    assert inside.ok("published", "offer", "delete", "lent").out == "Deleted published offer: lent\n"
    assert [each.name for each in client.leases.list()] == ["mine"]


def test_series(inside: Inside, client: Client) -> None:
    rule = ("--rule", "FREQ=DAILY;COUNT=3", "--time-zone", "Europe/Berlin", "--hosts", "12")
    booked(client, "in the way", timedelta(days=2, hours=1))
    made = inside.ok("series", "create", "course", *rule, "--from", "in 1 d", "--for", "2h", "-f", "json").json
    assert [each["refused"] is None for each in made["occurrences"]] == [True, False, True]
    (row,) = inside.ok("series", "list", "-f", "json").json
    assert (row["name"], row["occurrences"], row["refused"]) == ("course", 3, 1)
    shown = inside.ok("series", "show", "course").out
    assert all(each["lease_id"] in shown for each in made["occurrences"] if each["lease_id"])
    assert "Not enough hosts available" in shown
    changed = inside.ok("series", "set", "course", "--reservation", "min=2,max=2", "-f", "json").json
    assert [each["refused"] for each in changed["occurrences"]] == [None, None, None]
    assert inside.ok("series", "delete", "course").out == "Deleted series: course\n"
    assert [each.name for each in client.leases.list()] == ["in the way"]


def test_a_series_counts_in_the_users_zone(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--rule", "FREQ=DAILY;COUNT=2", "--hosts", "1", "--from", "in 1 d", "--for", "1h", "-f", "json")
    mine = inside.ok("series", "create", "mine", *words)
    assert (mine.json["time_zone"], f"counts in {ZONE}" in mine.err) == (ZONE, True)
    other = inside.ok("series", "create", "theirs", *words, "--time-zone", "Asia/Tokyo")
    assert other.json["time_zone"] == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "Mars/Olympus")
    unknown = inside.ok("series", "create", "nobodys", *words)
    assert unknown.json["time_zone"] == "UTC"
    assert "The name of your time zone is not known, so the rule counts in UTC." in unknown.err


def test_alarm(inside: Inside) -> None:
    wanted = ("--below", "3", "--for", "2h", "--properties", '[">=", "$vcpus", "8"]')
    said = inside.ok("alarm", "create", "few", *wanted, "-f", "json")
    made = said.json
    assert (made["below"], made["duration"]) == (3, 7200)
    # How the project is told, as a command.
    told = said.err.splitlines()[0].partition(": ")[2]
    assert told == "leasehold lease events --follow --new --type capacity.low --type capacity.restored"
    inside.ok(*[word for word in told.split()[1:] if word not in ("--follow", "--new")])
    (row,) = inside.ok("alarm", "list", "--all-projects", "-f", "json").json
    assert (row["id"], row["name"], row["below"]) == (made["id"], "few", 3)
    assert inside.ok("alarm", "show", "few", "-f", "json").json["reservation"]["resource_type"] == "physical:host"
    assert inside.ok("alarm", "delete", "few").out == "Deleted alarm: few\n"
    absent = inside("alarm", "show", "few")
    assert (absent.status, absent.err.startswith("There is no alarm with the name or id 'few'")) == (1, True)


def test_subscription(inside: Inside, client: Client) -> None:
    lease = booked(client, "told", timedelta(days=1))
    refused = inside("subscription", "create", "https://hooks.invalid/a", "--event-type", "none-such")
    assert (refused.status, "event_types" in refused.err) == (1, True)
    words = ("--event-type", "lease.delete", "--lease", "told", "--own")
    made = inside.ok("subscription", "create", "https://hooks.invalid/a", *words, "-f", "json").json
    assert made["secret"].startswith("whsec_")
    assert (made["lease_id"], made["event_types"], made["own"]) == (lease.id, ["lease.delete"], True)
    shown = inside.ok("subscription", "show", "https://hooks.invalid/a", "-f", "json").json
    assert "secret" not in shown
    assert [row["id"] for row in inside.ok("subscription", "list", "-f", "json").json] == [made["id"]]
    assert inside.ok("subscription", "dead", "letter", "list", made["id"], "-f", "json").json == []
    assert inside.ok("subscription", "replay", made["id"], "-f", "json").json["status"] == "active"
    inside.ok("subscription", "delete", made["id"])
    assert client.subscriptions.list() == []


def test_feed(inside: Inside, client: Client) -> None:
    booked(client, "in a calendar", timedelta(days=1))
    made = inside.ok("feed", "create", "lab", "--own", "-f", "json")
    assert "It is shown only now:" in made.err
    assert "SUMMARY:in a calendar" in requests.get(made.json["url"], timeout=10).text
    (row,) = inside.ok("feed", "list", "-f", "json").json
    assert (row["id"], row["name"], row["own"]) == (made.json["id"], "lab", True)
    assert "url" not in inside.ok("feed", "show", "lab", "-f", "json").json
    assert inside.ok("feed", "delete", "lab").out == "Deleted feed: lab\n"
    assert requests.get(made.json["url"], timeout=10).status_code == 404


def test_template(inside: Inside, client: Client) -> None:
    kept = ("--hosts", "2", "--for", "3h", "--description", "for two", "--heal-policy", "never")
    made = inside.ok("template", "create", "course", *kept, "-f", "json").json
    assert (made["duration_seconds"], made["heal_policy"]) == (10800, "never")
    (row,) = inside.ok("template", "list", "-f", "json").json
    assert (row["id"], row["name"], row["lasts"], row["public"]) == (made["id"], "course", 10800, False)
    lease = inside.ok("lease", "create", "week 1", "--template", "course", "--from", "in 1 d", "-f", "json").json
    assert (lease["what"], lease["heal_policy"]) == ("2 hosts", "never")
    (found,) = client.leases.list()
    assert found.end - found.start == timedelta(hours=3)
    wanted = ("--template", "course", "--hosts", "1", "--for", "1h", "--from", "in 1 d", "--earliest")
    tried = inside.ok("lease", "create", "week 2", *wanted, "--dry-run", "-f", "json")
    assert (tried.json["what"], "The first window that is free" in tried.err) == ("1 host", True)
    inside.ok("lease", "create", "week 3", "--template", "course", "--earliest", "--from", "in 3 d")
    week = next(each for each in client.leases.list() if each.name == "week 3")
    assert week.end - week.start == timedelta(hours=3)
    words = ("--name", "lab", "--for", "1h", "--remove", "heal_policy", "--public", "-f", "json")
    changed = inside.ok("template", "set", "course", *words).json
    assert (changed["name"], changed["duration_seconds"], changed["public"]) == ("lab", 3600, True)
    assert "heal_policy" not in changed
    own = inside.ok("template", "create", "lab", "--hosts", "1", "-f", "json").json
    assert inside.ok("template", "show", "lab", "-f", "json").json["id"] == own["id"]
    assert inside("template", "set", "lab").status == 1
    absent = inside("lease", "create", "x", "--template", "none-such", "--for", "1h")
    assert (absent.status, "There is no lease template" in absent.err) == (1, True)
    refused = inside("lease", "create", "x", "--template", own["id"], "--hosts", "13", "--for", "1h")
    assert (refused.status, f"--template {own['id']}" in refused.err) == (1, True)
    assert inside.ok("template", "delete", "lab").out == "Deleted template: lab\n"
    assert inside.ok("template", "delete", "lab").out == "Deleted template: lab\n"


def test_maintenance(inside: Inside, client: Client) -> None:
    everything = booked(client, "everything", timedelta(days=1), amount=11)
    (free,) = {each.name for each in client.hosts.list()} - {
        each.name for each in client.leases.resources(everything.id)
    }
    taken = next(each.name for each in client.leases.resources(everything.id) if each.name)
    when = ("--from", "in 20 h", "--for", "8h")
    refused = inside("maintenance", "create", "fans", "--host", taken, *when)
    assert refused.status == 1
    words = ("--host", taken, "--on-conflict", "move", *when)
    made = inside.ok("maintenance", "create", "fans", *words, "-f", "json").json
    assert made["moved"] == [everything.id]
    assert free in {each.name for each in client.leases.resources(everything.id)}
    (row,) = inside.ok("maintenance", "list", "-f", "json").json
    assert (row["name"], row["hosts"], row["moved"]) == ("fans", 1, 1)
    assert inside.ok("maintenance", "show", "fans", "-f", "json").json["id"] == made["id"]
    assert inside.ok("maintenance", "delete", "fans").out == "Deleted maintenance: fans\n"


def test_what_a_lease_has_and_gives_up(inside: Inside, client: Client) -> None:
    room = "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=1,amount=2"
    words = ("--hosts", "2", "--reservation", room, "--from", "in 1 d", "--for", "1h")
    made = inside.ok("lease", "create", "mine", *words, "-f", "json").json
    rows = inside.ok("lease", "resources", "mine", "-f", "json").json
    hosts, other = (part["id"] for part in made["reservations"])
    assert len([row for row in rows if row["reservation_id"] == hosts]) == 2
    assert {row["reservation_id"] for row in rows} == {hosts, other}
    shown = inside.ok("lease", "show", "mine").out
    assert f"1  {hosts}" in shown
    assert f"2  {other}" in shown
    inside.ok("lease", "set", "mine", "--reservation", "id=instance,amount=3")
    assert client.leases.find("mine").reservation("2").values["amount"] == 3
    absent = inside("lease", "drop", "mine", "3")
    known = "Name one by its number: 1 (physical:host), 2 (virtual:instance)."
    assert (absent.status, f"The lease mine has no reservation '3'. {known}\n" in absent.err) == (1, True)
    assert inside.ok("lease", "drop", "mine", "2").out == f"Dropped reservation: {other}\n"
    assert {row["reservation_id"] for row in inside.ok("lease", "resources", "mine", "-f", "json").json} == {hosts}
    first, second = (row for row in rows if row["reservation_id"] == hosts)
    whichever = inside("lease", "drop", "mine")
    assert (whichever.status, whichever.err.startswith("Say which reservation is dropped")) == (1, True)
    unknown = inside("lease", "drop", "mine", "--resource", "none-such")
    assert (unknown.status, "leasehold lease set mine --reservation id=host,min=1,max=1" in unknown.err) == (1, True)
    dropped = f"Dropped resource: {first['id']}\n"
    assert inside.ok("lease", "drop", "mine", "--resource", first["name"]).out == dropped
    # Sent again, it does nothing.
    assert inside.ok("lease", "drop", "mine", "host", "--resource", str(first["id"])).out == dropped
    assert second["name"] in inside.ok("lease", "resources", "mine").out
    assert len(inside.ok("lease", "resources", "mine", "-f", "json").json) == 1
    healthy = inside("lease", "heal", "mine")
    assert (healthy.status, healthy.err.startswith("No resource of the lease has failed")) == (1, True)


def test_floating_ips_of_the_only_network(inside: Inside, client: Client) -> None:
    when = ("--from", "in 1 d", "--for", "1h", "-f", "json")
    made = inside.ok("lease", "create", "public", "--floating-ips", "2", *when).json
    (part,) = made["reservations"]
    assert (part["network_id"], part["amount"]) == (seed.NETWORK_ID, 2)
    named = inside.ok("offer", "create", "more", "--floating-ips", "1", "--network", seed.NETWORK_ID, *when).json
    assert named["what"] == "1 floating IP"
    alone = inside("lease", "create", "none", "--network", seed.NETWORK_ID)
    assert (alone.status, "say with --floating-ips how many" in alone.err) == (1, True)


def test_resources(inside: Inside, client: Client) -> None:
    kinds = {row["resource_type"]: row for row in inside.ok("resource", "type", "list", "-f", "json").json}
    assert kinds["physical:host"]["enrolled"] is True
    names = {row["name"] for row in inside.ok("resource", "list", "physical:host", "-f", "json").json}
    assert names == {name for name, _ in seed.SUGGESTED_HOSTS}
    host = ("physical:host", "cmp-01")
    assert inside.ok("resource", "set", *host, "--property", "row=3").out == "Updated resource: cmp-01\n"
    assert inside.ok("resource", "show", *host, "-f", "json").json["properties"]["row"] == "3"
    listed = inside.ok("resource", "property", "list", "physical:host", "--detail", "-f", "json").json
    assert {"property": "row", "private": False, "property_values": ["3"]} in listed
    inside.ok("resource", "property", "set", "row", "physical:host", "--private")
    assert "row" not in inside.ok("resource", "property", "list", "physical:host", "-f", "value").out.split()
    inside.ok("resource", "unset", *host, "--property", "row")
    inside.ok("resource", "set", *host, "--disable", "a fan is loud")
    assert client.hosts.find("cmp-01").values["disabled_reason"] == "a fan is loud"
    inside.ok("resource", "set", *host, "--enable")
    lease = booked(client, "held", timedelta(days=1), amount=12)
    assert lease.id in inside.ok("allocation", "show", *host).out
    assert len(inside.ok("allocation", "list", "physical:host", "-f", "json").json) == len(seed.HOSTS)
    client.leases.delete(lease.id)
    assert inside.ok("resource", "delete", *host).out == "Deleted resource: cmp-01\n"
    again = inside.ok("resource", "create", "physical:host", "name=cmp-01", "--property", "rack=a1", "-f", "json").json
    assert (again["name"], again["properties"]) == ("cmp-01", {"rack": "a1"})
    nothing = inside("resource", "set", *host)
    assert (nothing.status, nothing.err.startswith("Say what to set")) == (1, True)


def test_a_host_is_drawn_and_given_back(inside: Inside, client: Client) -> None:
    """The sandbox moves it at once; where servers are on it, that takes longer."""
    before = client.hosts.find("cmp-07").values["pool"]
    assert before == "reservation"
    inside.ok("host", "set", "cmp-07", "--pool", "shared")
    assert client.hosts.find("cmp-07").values["pool"] in {"giving_back", "shared"}
    inside.ok("host", "set", "cmp-07", "--pool", "reservation")
