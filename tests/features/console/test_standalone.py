"""`make run` says where the console is, and a lease is made there without anything else."""

from __future__ import annotations

import re

import pytest
import requests

from tests.factory import hosts
from tests.processes import running

pytestmark = pytest.mark.slow

OWN = {"Sec-Fetch-Site": "same-origin", "X-Leasehold-Console": "1", "OpenStack-API-Version": "reservation 1.3"}
LEASE = {"name": "mine", "start_date": "now", "duration_seconds": 3600, "reservations": [hosts()]}


def test_the_sandbox_says_where_its_console_is() -> None:
    with running("leasehold-standalone") as here:
        found = re.search(r"The web console is at (\S+)", here.log.read_text(encoding="utf-8"))
        assert found is not None
        assert found[1] == f"{here.root}/console"
        page = requests.get(found[1], timeout=60)
        assert (page.status_code, page.url) == (200, f"{found[1]}/")
        session = f"{page.url}session"
        suggested = requests.get(session, headers=OWN, timeout=60).json()["sign_in"]["act_as"]
        begun = requests.post(session, json={"act_as": suggested}, headers=OWN, timeout=60)
        cookie = begun.headers["Set-Cookie"].partition(";")[0]
        made = requests.post(f"{page.url}v1/leases", json=LEASE, headers={**OWN, "Cookie": cookie}, timeout=60)
        assert made.status_code == 201, made.text
        listed = requests.get(f"{here.url}/leases", timeout=60).json()["leases"]
        assert [lease["name"] for lease in listed] == ["mine"]
