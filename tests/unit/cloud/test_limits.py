"""What is asked of Keystone about limits, and of Nova and Neutron about quotas; `tests/openstack` asks real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold import conf
from leasehold.cloud.openstack.limits import OpenStackLimits, open_limits
from leasehold.cloud.openstack.quotas import OpenStackQuotas
from leasehold.cloud.ports import CloudTransientError, Quota
from leasehold.conf import ConfigurationError
from tests.processes import as_text
from tests.unit.cloud.scripted import service

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.cloud.openstack.rest import ServiceClient
    from tests.unit.cloud.scripted import Script

HOSTS = "reservation:hosts"


@pytest.fixture
def keystone(tmp_path: Path, url: str) -> ServiceClient:
    return service(tmp_path, url, "neutron")


def row(name: str, number: int, region: str | None = None, of: str = "s1", **more: Any) -> dict[str, Any]:
    kind = "resource_limit" if more else "default_limit"
    return {"resource_name": name, "region_id": region, "service_id": of, kind: number, **more}


def answers(*registered: Any, own: Any = ()) -> list[tuple[int, Any]]:
    return [(200, {"registered_limits": list(registered)}), (200, {"limits": list(own)})]


def test_a_projects_own_limit_counts_before_the_registered_one(keystone: ServiceClient, script: Script) -> None:
    mine = row(HOSTS, 7, project_id="demo")
    script.answers = answers(row(HOSTS, 3), row("reservation:leases", -1), row("cores", 20), own=[mine])
    assert OpenStackLimits(keystone, None).of("demo") == {HOSTS: 7, "reservation:leases": None, "cores": 20}
    assert [path for _, path, _ in script.asked] == ["/v3/registered_limits", "/v3/limits?project_id=demo"]


def test_the_limit_of_another_project_does_not_count(keystone: ServiceClient, script: Script) -> None:
    script.answers = answers(row(HOSTS, 3), own=[row(HOSTS, 7, project_id="alt")])
    assert OpenStackLimits(keystone, None).of("demo") == {HOSTS: 3}


@pytest.mark.parametrize(("region", "limit"), [("here", 2), ("elsewhere", 9), ("third", 1), (None, 2)])
def test_limits_of_the_region_count_before_those_of_none(
    keystone: ServiceClient, script: Script, region: str | None, limit: int
) -> None:
    script.answers = answers(row(HOSTS, 1), row(HOSTS, 2, "here"), row(HOSTS, 9, "elsewhere"))
    found = OpenStackLimits(keystone, region).of("demo")
    assert found == {HOSTS: limit}


def test_of_several_services_the_least_counts(keystone: ServiceClient, script: Script) -> None:
    script.answers = answers(row(HOSTS, -1), row(HOSTS, 5, of="s2"), row(HOSTS, 8, of="s3"))
    assert OpenStackLimits(keystone, None).of("demo") == {HOSTS: 5}


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"registered_limits": [], "truncated": True}),
        (200, {"something": "else"}),
        (200, ["a list"]),
        (200, {"registered_limits": [{"resource_name": HOSTS}]}),
        (200, {"registered_limits": [row(HOSTS, "many")]}),  # type: ignore[arg-type]  # what a proxy may answer
        (500, {}),
    ],
)
def test_an_answer_that_is_not_complete_is_none(keystone: ServiceClient, script: Script, answer: Any) -> None:
    script.answers = [answer]
    with pytest.raises(CloudTransientError):
        OpenStackLimits(keystone, None).of("demo")


def read(tmp_path: Path, **section: str) -> OpenStackLimits | None:
    file = tmp_path / "limits.conf"
    file.write_text(as_text({"unified_limits": section}))
    return open_limits(conf.load(["--config-file", str(file)]).raw)


def test_without_an_account_there_are_no_limits(tmp_path: Path) -> None:
    assert read(tmp_path) is None


def test_an_account_of_a_project_would_not_see_the_limits_of_others(tmp_path: Path) -> None:
    account = {"auth_type": "password", "auth_url": "http://k/v3", "username": "l", "password": "p"}
    with pytest.raises(ConfigurationError, match=r"\[unified_limits\] system_scope: write all"):
        read(tmp_path, **account, project_name="service")
    assert read(tmp_path, **account, system_scope="all") is not None


def test_quotas_are_those_of_nova_and_of_neutron(keystone: ServiceClient, script: Script) -> None:
    servers = {"instances": 10, "cores": 20, "ram": -1, "server_groups": 1}
    script.answers = [(200, {"quota_set": servers}), (200, {"quota": {"floatingip": 50, "router": 1}})]
    assert OpenStackQuotas(keystone, keystone).of("a/b") == Quota(10, 20, None, 50)
    assert [path for _, path, _ in script.asked] == ["/os-quota-sets/a%2Fb", "/quotas/a%2Fb"]
    script.answers = [(200, {"quota_set": servers}), (200, {"quota": {}})]
    assert OpenStackQuotas(keystone, keystone).of("demo").floating_ips is None
    script.answers = [(200, {"quota_set": {"cores": 1}})]
    with pytest.raises(CloudTransientError, match="is no quota"):
        OpenStackQuotas(keystone, keystone).of("demo")
