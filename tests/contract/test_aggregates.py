from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from tests.contract.lab import unique

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from tests.contract.lab import Lab


def test_ensure_creates_once(cloud: Cloud) -> None:
    name = unique("aggregate")
    first = cloud.aggregates.ensure(name, f"blazar_{name}", {"blazar:owner": "p"})
    assert (first.name, first.zone, first.hosts) == (name, f"blazar_{name}", frozenset())
    assert isinstance(first.id, int)
    assert cloud.aggregates.ensure(name, f"blazar_{name}", {"blazar:owner": "p"}) == first
    assert cloud.aggregates.get(name) == first
    assert [a for a in cloud.aggregates.list() if a.name == name] == [first]


def test_ensure_adds_metadata_and_keeps_what_is_there(cloud: Cloud) -> None:
    name = unique("aggregate")
    cloud.aggregates.ensure(name, None, {"a": "1", "b": "1"})
    changed = cloud.aggregates.ensure(name, None, {"b": "2", "c": "3"})
    assert changed.metadata.items() >= {"a": "1", "b": "2", "c": "3"}.items()
    assert changed.zone is None


def test_ensure_changes_the_zone_and_keeps_the_hosts(lab: Lab) -> None:
    name, host = unique("aggregate"), lab.hosts()[0]
    lab.cloud.aggregates.ensure(name, None, {})
    lab.cloud.aggregates.add_host(name, host.service_host)
    changed = lab.cloud.aggregates.ensure(name, f"zone-of-{name}", {})
    assert changed.zone == f"zone-of-{name}"
    assert changed.hosts == {host.service_host}


def test_names_are_exact(cloud: Cloud) -> None:
    name = unique("aggregate")
    cloud.aggregates.ensure(name, None, {})
    assert cloud.aggregates.get(name.upper()) is None
    assert cloud.aggregates.get(name[:-1]) is None


def test_hosts_join_and_leave_any_number_of_times(lab: Lab) -> None:
    aggregates, name = lab.cloud.aggregates, unique("aggregate")
    first, second = (host.service_host for host in lab.hosts())
    aggregates.ensure(name, None, {})
    for _ in range(2):
        aggregates.add_host(name, first)
    aggregates.add_host(name, second)
    assert lab.aggregate(name).hosts == {first, second}
    for _ in range(2):
        aggregates.remove_host(name, first)
    assert lab.aggregate(name).hosts == {second}


def test_a_host_may_be_in_several_aggregates(lab: Lab) -> None:
    host, names = lab.host, [unique("aggregate"), unique("aggregate")]
    for name in names:
        lab.cloud.aggregates.ensure(name, None, {})
        lab.cloud.aggregates.add_host(name, host)
    assert {a.name for a in lab.cloud.aggregates.list() if host in a.hosts} >= set(names)


def test_a_host_cannot_be_in_two_zones(lab: Lab) -> None:
    aggregates, host = lab.cloud.aggregates, lab.host
    one, two = unique("zone"), unique("zone")
    aggregates.ensure(one, one, {})
    aggregates.ensure(two, two, {})
    aggregates.add_host(one, host)
    with pytest.raises(CloudTransientError, match="zone"):
        aggregates.add_host(two, host)
    aggregates.remove_host(one, host)
    aggregates.add_host(two, host)


def test_a_zone_cannot_be_changed_into_a_second_one_of_a_member(lab: Lab) -> None:
    aggregates, host = lab.cloud.aggregates, lab.host
    one, two = unique("zone"), unique("zone")
    aggregates.ensure(one, one, {})
    aggregates.ensure(two, None, {})
    aggregates.add_host(one, host)
    aggregates.add_host(two, host)
    with pytest.raises(CloudTransientError, match="zone"):
        aggregates.ensure(two, two, {})


def test_servers_keep_their_host_in_its_zone(lab: Lab) -> None:
    """Nova 2024.1 and later: a server cannot change its zone, so its host cannot either."""
    aggregates, host = lab.cloud.aggregates, lab.host
    name = unique("reservation")
    aggregates.ensure(name, f"blazar_{name}", {"blazar:owner": lab.projects[0]})
    aggregates.add_host(name, host)
    server = lab.boot(lab.projects[0], lab.flavor_id, [name])
    assert server.service_host == host
    with pytest.raises(CloudTransientError):
        aggregates.remove_host(name, host)
    lab.remove(server)
    aggregates.remove_host(name, host)
    ordinary = lab.boot(lab.projects[0], lab.flavor_id)
    assert ordinary.service_host is not None
    with pytest.raises(CloudTransientError):
        aggregates.add_host(name, ordinary.service_host)


def test_nothing_joins_what_does_not_exist(lab: Lab) -> None:
    name = unique("aggregate")
    with pytest.raises(CloudPermanentError, match=name):
        lab.cloud.aggregates.add_host(name, lab.host)
    lab.cloud.aggregates.ensure(name, None, {})
    with pytest.raises(CloudPermanentError, match="no-such-host"):
        lab.cloud.aggregates.add_host(name, "no-such-host")


def test_what_is_not_there_is_removed_without_complaint(lab: Lab) -> None:
    name = unique("aggregate")
    lab.cloud.aggregates.remove_host(name, lab.host)
    lab.cloud.aggregates.delete(name)
    assert lab.cloud.aggregates.get(name) is None


def test_only_an_empty_aggregate_is_removed(lab: Lab) -> None:
    name, host = unique("aggregate"), lab.host
    lab.cloud.aggregates.ensure(name, None, {})
    lab.cloud.aggregates.add_host(name, host)
    with pytest.raises(CloudPermanentError, match=name):
        lab.cloud.aggregates.delete(name)
    lab.cloud.aggregates.remove_host(name, host)
    for _ in range(2):
        lab.cloud.aggregates.delete(name)
    assert lab.cloud.aggregates.get(name) is None
