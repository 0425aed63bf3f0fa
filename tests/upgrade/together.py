"""What programs of two versions do for one another while they run side by side."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from itertools import permutations
from typing import Any

import requests

from tests.processes import wait_for
from tests.upgrade import estate
from tests.upgrade.estate import HOST, ROOM, VISITOR, WITHIN, between, wait_for_managers

SOON = 2 / 3600
"""Two seconds, in hours."""
NEWER_KEYS = frozenset({"notice_seconds", "taken_back_at"})
"""What leases show that the oldest version does not know."""
ask = partial(estate.ask, project=VISITOR)


def check_each_knows_what_the_other_wrote(database_url: str, *urls: str) -> None:
    """Check that a lease made by each API is read, amended and deleted by the other one, and shown the same by both."""
    for maker, other in permutations(urls, 2):
        body = {"name": "made", "reservations": [HOST, ROOM], **between(500, 510)}
        path = f"leases/{ask('POST', f'{maker}/leases', body)['lease']['id']}"
        made = seen_by_both(database_url, f"{other}/{path}", f"{maker}/{path}")
        grown = {"id": made["reservations"][1]["id"], "amount": 3}
        ask("PUT", f"{other}/{path}", {"name": "amended", "reservations": [grown]})
        amended = seen_by_both(database_url, f"{maker}/{path}", f"{other}/{path}")
        assert (amended["name"], amended["reservations"][1]["amount"]) == ("amended", 3)
        ask("DELETE", f"{other}/{path}")
        assert {requests.get(f"{url}/{path}", timeout=WITHIN).status_code for url in urls} == {HTTPStatus.NOT_FOUND}


def check_a_purpose_stays(old: str, new: str) -> None:
    """Check that a lease keeps its purpose when an API that knows none renames it."""
    body = {"name": "why", "purpose": "A test €", "reservations": [HOST], **between(500, 510)}
    path = f"leases/{ask('POST', f'{new}/leases', body)['lease']['id']}"
    ask("PUT", f"{old}/{path}", {"name": "renamed"})
    lease = ask("GET", f"{new}/{path}")["lease"]
    assert (lease["name"], lease["purpose"]) == ("renamed", "A test €")
    ask("DELETE", f"{old}/{path}")


def seen_by_both(database_url: str, *urls: str) -> Any:
    """Return a lease as two APIs show it, once managers do nothing more for it."""
    wait_for_managers(database_url)
    shown = [ask("GET", url)["lease"] for url in urls]
    one, other = ({key: value for key, value in each.items() if key not in NEWER_KEYS} for each in shown)
    assert one == other
    return one


def check_the_manager(*urls: str) -> None:
    """Check that leases of each API, made due and over by the other one, are started and ended."""
    for maker, other in permutations(urls, 2):
        body = {"name": "due", "reservations": [ROOM], **between(24, 30)}
        path = f"leases/{ask('POST', f'{maker}/leases', body)['lease']['id']}"
        ask("PUT", f"{other}/{path}", between(0, 1))
        wait_for_status(f"{maker}/{path}", "ACTIVE")
        ask("PUT", f"{other}/{path}", {"end_date": between(0, SOON)["end_date"]})
        wait_for_status(f"{maker}/{path}", "TERMINATED")
        ask("DELETE", f"{maker}/{path}")


def wait_for_status(url: str, status: str) -> None:
    wait_for(lambda: ask("GET", url)["lease"]["status"] == status, WITHIN)
