"""A granted lease that waits for its server group holds no admission permit, and is answered with 201."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING

import pytest
from falcon import testing

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.cmd.web import make_app
from tests.factory import instances
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cloud.ports import ServerGroup
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.keystone.conftest import Configured
    from tests.api.keystone.server import Keystone

pytestmark = pytest.mark.slow

WITHIN = 60.0


@dataclass
class SilentGroups:
    """Server groups of a Nova that does not answer until the test sets `answers`."""

    answers: Event = field(default_factory=Event)
    asked: int = 0

    def list(self) -> Sequence[ServerGroup]:
        return []

    def create(self, name: str, *, together: bool, token: str) -> str:
        assert name
        assert token
        assert together
        self.asked += 1
        assert self.answers.wait(WITHIN)
        return "the-group"

    def delete(self, group_id: str) -> None:
        raise AssertionError(group_id)


def test_a_granted_lease_that_waits_for_its_server_group_holds_no_place(
    service: Service, settings: ApiSettings, configured: Configured, keystone: Keystone
) -> None:
    groups = SilentGroups()
    one = replace(settings, auth_strategy="keystone", threads=1, waiting=0, wait_seconds=0.01, cloud_seconds=WITHIN)
    admission = AdmissionControl(one)
    silent = replace(service, cloud=replace(service.cloud, server_groups=groups))
    web = testing.TestClient(make_app(silent, one, configured(), admission))
    admin = {"X-Auth-Token": keystone.issue("admin", "admin", "member", "reader")}
    assert web.simulate_post("/v1/os-hosts", json={"name": "cmp-01"}, headers=admin).status_code == 201
    dates = {"start_date": "2031-05-01 10:00", "end_date": "2031-05-01 11:00"}
    body = {"name": "l", **dates, "reservations": [instances(1, affinity=True)]}
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(web.simulate_post, "/v1/leases", json=body, headers=admin)
        wait_for(lambda: groups.asked == 1, within=WITHIN)
        assert web.simulate_get("/v1/leases", headers=admin).status_code == 200
        # A second lease, beyond the project's share of requests that wait for the cloud: granted without a group.
        other = web.simulate_post("/v1/leases", json=body, headers=admin)
        assert (other.status_code, groups.asked) == (201, 1)
        assert other.json["lease"]["reservations"][0]["server_group_id"] is None
        # The first is answered although the only permit is taken, because a granted lease needs no permit.
        with admission.admit(public=False):
            groups.answers.set()
            answer = first.result(WITHIN)
    assert answer.status_code == 201
    assert answer.json["lease"]["reservations"][0]["server_group_id"] == "the-group"
