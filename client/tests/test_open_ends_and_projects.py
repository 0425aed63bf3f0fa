"""Leases without an end, leases that are shared, and resources for some projects."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from leasehold.cloud.sandbox import seed

if TYPE_CHECKING:
    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow

HOSTS = "physical:host"
WINDOW = ("--hosts", "1", "--from", "in 1 d")


def test_a_lease_without_an_end(inside: Inside, client: Client) -> None:
    made = inside.ok("lease", "create", "on and on", *WINDOW, "--open-ended", "-f", "json").json
    assert (made["open_ended"], made["end_date"]) == (True, None)
    assert "no end" in inside.ok("lease", "show", "on and on").out
    (row,) = inside.ok("lease", "list", "-f", "json").json
    assert (row["end_date"], row["how_long"]) == (None, None)
    inside.ok("lease", "extend", "on and on", "--until", "in 3 d")
    assert not client.leases.get(made["id"]).open_ended
    inside.ok("lease", "set", "on and on", "--open-ended")
    assert client.leases.get(made["id"]).open_ended
    tried = inside.ok("lease", "create", "tried", *WINDOW, "--open-ended", "--dry-run", "-f", "json").json
    assert tried["end_date"] is None
    refused = inside("lease", "create", "soon", *WINDOW, "--open-ended", "--earliest")
    assert (refused.status, refused.err.startswith("--earliest looks for a length of time.")) == (1, True)


def test_what_is_refused_without_an_end_is_offered_without_one(inside: Inside) -> None:
    inside.ok("lease", "create", "on and on", *WINDOW, "--open-ended")
    refused = inside("lease", "create", "all", "--hosts", "12", "--from", "in 2 d", "--open-ended")
    assert refused.status == 1
    assert "leasehold lease create all --from " in refused.err
    assert " --open-ended --hosts 11" in refused.err


def test_a_lease_is_shared_and_kept_again(inside: Inside, client: Client) -> None:
    lease = booked(client, "mine", timedelta(days=1))
    inside.ok("lease", "set", "mine", "--share-with", "lab", "--share-with", "class")
    assert client.leases.get(lease.id).shared_with == ("class", "lab")
    inside.ok("lease", "set", "mine", "--share-with", "guests", "--unshare-with", "class")
    assert inside.ok("lease", "show", "mine", "-f", "json").json["shared_with"] == ["guests", "lab"]
    inside.ok("lease", "set", "mine", "--unshare-with", "lab", "--unshare-with", "guests")
    assert client.leases.get(lease.id).shared_with == ()


def test_a_resource_is_for_some_projects(inside: Inside, client: Client) -> None:
    for words in (("host", "set", "cmp-07"), ("resource", "set", HOSTS, "cmp-07")):
        inside.ok(*words, "--project", "lab", "--project", "class")
        assert client.hosts.find("cmp-07").values["projects"] == ["class", "lab"]
        inside.ok(*words, "--all-projects")
        assert client.hosts.find("cmp-07").values["projects"] is None
    inside.ok("host", "delete", "cmp-07")
    made = inside.ok("host", "create", "cmp-07", "--extra", "rack=b1", "--project", "lab", "-f", "json").json
    assert made["projects"] == ["lab"]
    inside.ok("resource", "delete", HOSTS, "cmp-07")
    named = ("name=cmp-07", "--property", "rack=b1", "--project", "lab")
    assert inside.ok("resource", "create", HOSTS, *named, "-f", "json").json["projects"] == ["lab"]
    inside.ok("host", "set", "cmp-07", "--all-projects")


def test_an_address_is_for_some_projects(inside: Inside) -> None:
    words = (seed.NETWORK_ID, "203.0.113.172", "--project", "lab")
    made = inside.ok("floatingip", "create", *words, "-f", "json").json
    assert made["projects"] == ["lab"]
    inside.ok("floatingip", "delete", made["id"])
