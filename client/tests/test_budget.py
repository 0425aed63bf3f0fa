"""Prices and budgets by our command line: a project at the edge of its budget gets what fits, and then a top-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow

ADDRESS = ("--floating-ips", "1")


def test_what_things_cost_is_listed(inside: Inside) -> None:
    (row,) = inside.ok("price", "list", "-f", "json").json
    assert (row["resource type"], row["hour"], row["unit"]) == ("virtual:floatingip", "0.5", "EUR")


def test_a_project_at_the_edge_of_its_budget(inside: Inside, client: Client) -> None:
    project = inside.ok("lease", "create", "first", *ADDRESS, "--from", "in 1 d", "--for", "1h", "-f", "json").json
    whose = ("--for-project", project["project_id"], "--from", "2020-01-01", "--until", "2099-01-01")
    inside.ok("budget", "create", "spring", *whose, "--amount", "2.50")
    (row,) = inside.ok("budget", "list", "-f", "json").json
    assert (row["name"], row["left"], row["unit"], row["user"]) == ("spring", "2.000000", "EUR", "")
    refused = inside("lease", "create", "long", *ADDRESS, "--from", "in 2 d", "--for", "9h")
    assert refused.status == 1
    assert "This costs 4.50 EUR, and the budget 'spring' of the project has 2.00 EUR left" in refused.err
    inside.ok("lease", "create", "short", *ADDRESS, "--from", "in 2 d", "--for", "4h")
    longer = inside("lease", "set", "short", "--prolong-for", "1h")
    assert (longer.status, "has 0.00 EUR left" in longer.err) == (1, True)
    assert "Say what to change: --name, --amount, --until or --at-end." in inside("budget", "set", "spring").err
    inside.ok("budget", "set", "spring", "--amount", "3.00", "--at-end", "warn")
    assert client.budgets.find("spring").at_end == "warn"
    inside.ok("lease", "set", "short", "--prolong-for", "1h")
    assert client.budgets.find("spring").left == "0.000000"
    inside.ok("budget", "delete", "spring")
    assert client.budgets.list() == []


def test_a_found_window_and_what_is_offered_instead_say_what_they_cost(inside: Inside, client: Client) -> None:
    every = len(client.floating_ips.list())
    inside.ok("lease", "create", "all", "--floating-ips", str(every), "--from", "in 3 d", "--for", "2h")
    search = ("window", "search", "--floating-ips", "2", "--from", "in 4 d", "--for", "2h")
    (row,) = inside.ok(*search, "--limit", "1", "-f", "json").json
    assert row["cost"] == {"unit": "EUR", "total": "2.00"}
    refused = inside("lease", "create", "more", "--floating-ips", str(every), "--from", "in 3 d", "--for", "4h")
    assert refused.status == 1
    assert f", for {2 * every}.00 EUR." in refused.err
    inside.ok("lease", "delete", "all")


def test_a_change_is_tried_and_says_what_more_it_costs(inside: Inside, client: Client) -> None:
    inside.ok("lease", "create", "tried", *ADDRESS, "--from", "in 1 d", "--for", "1h")
    before = client.leases.find("tried")
    tried = inside.ok("lease", "extend", "tried", "--for", "2h", "--dry-run", "-f", "json").json
    assert tried["would_be_granted"] is True
    assert (tried["cost"]["total"], tried["cost"]["more"]) == ("1.50", "1.00")
    assert "1.50 EUR, 1.00 EUR more than now" in inside.ok("lease", "extend", "tried", "--for", "2h", "--dry-run").out
    said = inside.ok("lease", "set", "tried", "--reduce-by", "30m", "--dry-run").out
    assert said.startswith("This would be granted, and nothing is changed: 1 floating IP from ")
    assert said.endswith(", for 0.25 EUR, 0.25 EUR less than now.\n")
    assert client.leases.get(before.id).end == before.end
    inside.ok("lease", "delete", "tried")


def test_charges_are_listed_and_exported(inside: Inside) -> None:
    listed = inside.ok("charge", "list", "-f", "json")
    assert listed.json == []
    assert "Nothing is charged yet" in listed.err
    assert inside.ok("charge", "export").out.startswith("id,lease_id,reservation_id,project_id")
    focus = inside.ok("charge", "export", "--as", "focus", "--from", "2 d ago").out
    assert focus.startswith("BillingAccountId,BillingAccountName")
