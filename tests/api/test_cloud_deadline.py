"""A request waits for an unresponsive cloud at most `[api] cloud_seconds`, however many calls it needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from leasehold.api.app import make_app
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.settings import ApiSettings
from tests.factory import flavors, make_service
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

SILENT = 3600 * 1000
HEADERS = {"X-Roles": "member", "X-User-Id": "alice", "X-Project-Id": "demo"}


def test_a_silent_cloud_is_answered_for_within_the_requests_time(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as world:
        web = LocalClient(make_app(world.service, ApiSettings(auth_strategy="none", cloud_seconds=0.2)))
        world.cloud.faults.set(Fault("flavors.*", latency_ms=SILENT))
        body = {
            "name": "one",
            "start_date": "2031-05-01 10:00",
            "end_date": "2031-05-01 11:00",
            "reservations": [flavors(flavor=name) for name in ("m1.small", "m1.medium", "m1.large")],
            "events": [],
        }
        begin = time.monotonic()
        answer = web.simulate_post("/v1/leases", json=body, headers=HEADERS)
        assert time.monotonic() - begin < SILENT / 1000
        assert answer.status_code == 503, answer.text
        assert answer.json["field"] == "reservations[0].flavor_id"
        world.cloud.faults.clear()
        # Use the default deadline: a busy machine may need more than 0.2 s for three calls.
        patient = LocalClient(make_app(world.service, ApiSettings(auth_strategy="none")))
        assert patient.simulate_post("/v1/leases", json=body, headers=HEADERS).status_code == 201
