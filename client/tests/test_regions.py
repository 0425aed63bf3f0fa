"""`region list`, `region availability` and `region search`, at a service that knows one peer and one that is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from tests.processes import running

if TYPE_CHECKING:
    from pathlib import Path

    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow


def test_what_is_free_in_which_region(
    inside: Inside, client: Client, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = booked(client, "busy", timedelta(0), amount=5)
    peers = f"Two={endpoint},Gone=http://127.0.0.1:1"
    regions = {"regions": {"name": "One", "peers": peers}}
    database = f"sqlite:///{tmp_path}/leasehold.db"
    with running("leasehold-standalone", database_url=database, options=regions) as program:
        monkeypatch.setenv("OS_ENDPOINT", program.url)
        listed = inside.ok("region", "list", "-f", "json")
        assert [(each["name"], each["here"]) for each in listed.json] == [
            ("One", True),
            ("Two", False),
            ("Gone", False),
        ]
        free = inside.ok("region", "availability", "--for", "2d", "-f", "json")
        assert [(each["region"], each["free"]) for each in free.json] == [("One", 12), ("Two", 7), ("Two", 12)]
        assert "Two: There are 12 hosts; one lease of all of this time would get 7." in free.err
        assert "Gone: The service of this region gives no answer: it cannot be reached" in free.err
        only = inside.ok("region", "availability", "--for", "2d", "--region", "One", "-f", "json")
        assert [each["region"] for each in only.json] == ["One"]
        found = inside.ok("region", "search", "--hosts", "12", "--for", "2h", "-f", "json")
        one, two = found.json
        assert (one["region"], one["endpoint"]) == ("One", program.url)
        assert (two["region"], two["endpoint"], two["from"]) == ("Two", endpoint, f"{busy.end:%Y-%m-%dT%H:%M:%SZ}")
        none = inside.ok("region", "search", "--hosts", "13", "--for", "2h", "-f", "json")
        assert (none.json, "Two: Not enough hosts available: 13 asked" in none.err) == ([], True)
        unknown = inside("region", "search", "--hosts", "1", "--for", "2h", "--region", "Three")
        assert (unknown.status, "There are: One, Two, Gone." in unknown.err) == (1, True)
