from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from tests.contract.lab import Lab


def test_lists_hosts_with_their_sizes(cloud: Cloud) -> None:
    hosts = cloud.hypervisors.list()
    assert len({host.id for host in hosts}) == len(hosts) >= 2
    for host in hosts:
        assert host.id.isdecimal()
        assert host.service_host
        assert min(host.vcpus, host.memory_mb, host.local_gb) > 0
        assert host.cpu_info == "" or json.loads(host.cpu_info)


def test_finds_a_host_by_id_and_by_exact_hostname(lab: Lab) -> None:
    host = lab.hosts()[0]
    assert lab.cloud.hypervisors.find(host.id) == host
    assert lab.cloud.hypervisors.find(host.hypervisor_hostname) == host


def test_finds_nothing_by_part_of_a_name_or_an_unknown_one(lab: Lab) -> None:
    host = lab.hosts()[0]
    for reference in (
        host.hypervisor_hostname[:-1],
        host.hypervisor_hostname.upper(),
        "no-such-host",
        "",
        "9" * 30,
        "²",
    ):
        assert lab.cloud.hypervisors.find(reference) is None
