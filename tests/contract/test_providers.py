"""Hosts: hypervisors as Nova lists them, and the resource providers of Placement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudConflictError, CloudPermanentError, CloudTransientError, Inventory
from tests.contract.lab import custom_class, unique

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
    name = host.hypervisor_hostname
    for reference in (host.id, name):
        assert lab.cloud.hypervisors.find(reference) == host
    for reference in (name[:-1], name.upper(), "no-such-host", "", "9" * 30, "²"):
        assert lab.cloud.hypervisors.find(reference) is None


# ---------------------------------------------------------------- providers


@pytest.fixture
def child(lab: Lab) -> str:
    name = unique("blazar_host")
    lab.cloud.providers.ensure_child(lab.hosts()[0].hypervisor_hostname, name)
    return name


@pytest.fixture
def resource_class(cloud: Cloud) -> str:
    name = custom_class(unique("r"))
    cloud.providers.ensure_class(name)
    return name


def test_every_host_has_a_provider_of_its_hostname(cloud: Cloud) -> None:
    for host in cloud.hypervisors.list():
        inventories = cloud.providers.inventories(host.hypervisor_hostname)
        assert inventories.keys() >= {"VCPU", "MEMORY_MB", "DISK_GB"}
        assert inventories["VCPU"].total == host.vcpus
        assert isinstance(cloud.providers.traits(host.hypervisor_hostname), frozenset)


def test_an_unknown_provider(lab: Lab, resource_class: str) -> None:
    providers, name = lab.cloud.providers, unique("provider")
    for call in (
        lambda: providers.inventories(name),
        lambda: providers.traits(name),
        lambda: providers.ensure_child(name, unique("child")),
        lambda: providers.set_inventory(name, resource_class, Inventory(1)),
    ):
        with pytest.raises(CloudPermanentError, match=name):
            call()
    providers.remove_inventory(name, resource_class)
    providers.delete(name)


def test_a_child_is_made_once_and_belongs_to_one_parent(lab: Lab, child: str) -> None:
    first, second = lab.hosts()
    lab.cloud.providers.ensure_child(first.hypervisor_hostname, child)
    assert lab.cloud.providers.inventories(child) == {}
    with pytest.raises(CloudPermanentError, match=child):
        lab.cloud.providers.ensure_child(second.hypervisor_hostname, child)


def test_an_inventory_leaves_the_others_alone(lab: Lab, child: str, resource_class: str) -> None:
    providers, other = lab.cloud.providers, custom_class(unique("r"))
    parent = lab.hosts()[0].hypervisor_hostname
    before = providers.inventories(parent)
    providers.ensure_class(other)
    providers.set_inventory(child, other, Inventory(7, allocation_ratio=1.5))
    for total in (2, 2, 3):
        providers.set_inventory(child, resource_class, Inventory(total, max_unit=1))
    assert providers.inventories(child) == {
        other: Inventory(7, allocation_ratio=1.5),
        resource_class: Inventory(3, max_unit=1),
    }
    for _ in range(2):
        providers.remove_inventory(child, resource_class)
    assert providers.inventories(child) == {other: Inventory(7, allocation_ratio=1.5)}
    assert providers.inventories(parent) == before


def test_a_provider_goes_with_its_inventories(lab: Lab, child: str, resource_class: str) -> None:
    providers = lab.cloud.providers
    providers.set_inventory(child, resource_class, Inventory(1))
    with pytest.raises(CloudTransientError):
        providers.delete(lab.hosts()[0].hypervisor_hostname)
    for _ in range(2):
        providers.delete(child)
    with pytest.raises(CloudPermanentError):
        providers.inventories(child)
    providers.delete_class(resource_class)


def test_a_class_is_custom_and_removed_when_nothing_has_it(lab: Lab, child: str, resource_class: str) -> None:
    providers = lab.cloud.providers
    for wrong in ("RESERVATION", "VCPU"):
        with pytest.raises(CloudPermanentError, match=wrong):
            providers.delete_class(wrong)
    with pytest.raises(CloudPermanentError):
        providers.ensure_class("RESERVATION")
    providers.ensure_class(resource_class)
    providers.set_inventory(child, resource_class, Inventory(1))
    with pytest.raises(CloudConflictError, match=resource_class):
        providers.delete_class(resource_class)
    providers.remove_inventory(child, resource_class)
    for _ in range(2):
        providers.delete_class(resource_class)
    with pytest.raises(CloudPermanentError, match=resource_class):
        providers.set_inventory(child, resource_class, Inventory(1))


def test_providers_and_classes_are_listed_while_they_exist(lab: Lab, child: str, resource_class: str) -> None:
    providers = lab.cloud.providers
    assert providers.names() >= {child, *(host.hypervisor_hostname for host in lab.hosts())}
    assert providers.classes() >= {resource_class, "VCPU", "MEMORY_MB"}
    providers.delete(child)
    providers.delete_class(resource_class)
    assert child not in providers.names()
    assert resource_class not in providers.classes()
