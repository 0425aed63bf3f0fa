"""The sizes of the API's answers, in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from tests.counts.costs import ADDRESSES, ALL_FOUR, HOSTS
from tests.factory import hosts, make_service
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

CALLER = {"X-User-Id": "alice", "X-Project-Id": "demo", "X-Roles": "admin,member,reader"}
VERSIONS = {"1.0": {}, "1.1": {"OpenStack-API-Version": "reservation 1.1"}}


def count_answers(folder: Path) -> dict[str, dict[str, int]]:
    """Return the sizes of a lease, of a list and of a host, in each microversion."""
    with make_service(folder, hosts=HOSTS, addresses=ADDRESSES) as world:
        web = LocalClient(make_app(world.service, ApiSettings(auth_strategy="none")))
        one, four = world.lease(hosts(1), start=10, end=11), world.lease(*ALL_FOUR, start=20, end=21)
        paths = {
            "a lease with 1 reservation": f"/v1/leases/{one.id}",
            "a lease with 4 reservations": f"/v1/leases/{four.id}",
            "a list of both": "/v1/leases",
            "a list of 5 hosts": "/v1/os-hosts",
        }
        counts = {}
        for version, headers in VERSIONS.items():
            for name, path in paths.items():
                answer = web.simulate_get(path, headers=CALLER | headers)
                assert answer.status_code == 200, answer.text
                counts[f"{name}, {version}"] = {"bytes": len(answer.content)}
        return counts
