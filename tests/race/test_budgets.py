"""Budgets among processes: whoever else asks, what is agreed is what was taken, and never more than there is."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import requests

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine, reading
from leasehold.features.price.store import agreements_of, find_budgets
from tests.harness import mix
from tests.harness.programs import fleet
from tests.harness.visitor import NEWEST, Asked, Visitor, all_at_once
from tests.processes import prepare_database
from tests.race.crowd import Crowd

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.features.price.budget import Budget
    from tests.race.crowd import Way

pytestmark = pytest.mark.slow

CLIENTS = 12
FILE = """
unit = "EUR"
[[list]]
name = "always"
from = 2020-01-01T00:00:00Z
[[list.rule]]
type = "physical:host"
hour = "1"
flat = "0.125"
given_up = "0.5"
"""
WANTED = (("create", 201), ("create", 403), ("delete", 204), ("longer", 200), ("longer", 403))
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, **mix.ANYTHING}


class Spending(Crowd):
    """Clients that lease, extend and give up, all of one project, whose budget is soon spent."""

    seed, seconds, wanted = 20_261_201, 8.0, WANTED

    def ways(self) -> Sequence[Way]:
        return self._create, self._create, self._delete, self._longer

    def _create(self, visitor: Visitor, rng: random.Random) -> Asked:
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=rng.randint(1, 500))
        dates = {
            "start_date": start.isoformat(),
            "end_date": (start + timedelta(minutes=rng.randint(7, 180))).isoformat(),
        }
        body = {"name": uuid4().hex, "reservations": [HOST], **dates}
        return visitor.ask("POST", "/leases", body, "create", headers=NEWEST)

    def _delete(self, visitor: Visitor, rng: random.Random) -> Asked:
        return self._one("DELETE", None, "delete", visitor, rng)

    def _longer(self, visitor: Visitor, rng: random.Random) -> Asked:
        return self._one("PUT", {"extend_seconds": rng.randint(600, 5400)}, "longer", visitor, rng)

    def _one(self, method: str, body: dict[str, int] | None, kind: str, visitor: Visitor, rng: random.Random) -> Asked:
        listed = visitor.ask("GET", "/leases", None, "list", headers=NEWEST)
        ids = [each["id"] for each in listed.body["leases"] if each["status"] == "PENDING"]
        if not ids:
            return listed
        return visitor.ask(
            method, f"/leases/{rng.choice(ids)}", body, kind, headers={**NEWEST, "Idempotency-Key": uuid4().hex}
        )


def seen(engine: Engine, project: str) -> tuple[Budget, int]:
    """Return the budget, and what was agreed of it, both as they were at one moment."""
    with reading(engine) as connection:
        (budget,) = find_budgets(connection, project)
        return budget, sum(budget.share(each) for each in agreements_of(connection, project, ""))


def test_what_is_agreed_is_what_was_taken_and_never_too_much(database_url: str, tmp_path: Path) -> None:
    prepare_database(database_url)
    (tmp_path / "prices.toml").write_text(FILE)
    options = {"price": {"file": str(tmp_path / "prices.toml")}}
    engine = open_engine(database_url)
    with fleet([database_url], apis=4, managers=1, options=options) as site:
        for name, _properties in seed.SUGGESTED_HOSTS:
            assert requests.post(f"{site.url(0)}/os-hosts", json={"name": name}, timeout=60).status_code == 201
        first = {
            "name": "first",
            "reservations": [HOST],
            "start_date": "2099-01-01 00:00",
            "end_date": "2099-01-01 01:00",
        }
        project = requests.post(f"{site.url(0)}/leases", json=first, timeout=60).json()["lease"]["project_id"]
        dates = {"start_date": "2026-01-01T00:00Z", "end_date": "2101-01-01T00:00Z"}
        body = {"project_id": project, "name": "all", "amount": "20", **dates}
        made = requests.post(f"{site.url(0)}/budgets", json=body, headers=NEWEST, timeout=60)
        assert made.status_code == 201, made.text
        with ThreadPoolExecutor(1) as beside:
            asking = beside.submit(all_at_once, site, Spending(), CLIENTS)
            while wait([asking], timeout=0.2).not_done:
                budget, agreed = seen(engine, project)
                assert 0 <= budget.encumbered <= budget.amount
                assert agreed == budget.encumbered or budget.recount
        answers = [each for made in asking.result() for each in made]
        found = Counter((each.kind, each.status) for each in answers)
        assert not [each for each in answers if each.status >= 500], found
        assert all(found[each] for each in WANTED), found
        budget, agreed = seen(engine, project)
        assert agreed == budget.encumbered <= budget.amount
    engine.dispose()
