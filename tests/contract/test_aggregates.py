from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.resource_types.host.giving_back import POOL_KEY
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


def test_ensure_adds_metadata_and_changes_the_zone_and_keeps_what_is_there(lab: Lab) -> None:
    name = lab.aggregate_of(lab.host, metadata={"a": "1", "b": "1"})
    merged = {"a": "1", "b": "2", "c": "3"}
    for zone, metadata in ((None, {"b": "2", "c": "3"}), (f"zone-of-{name}", {})):
        changed = lab.cloud.aggregates.ensure(name, zone, metadata)
        assert changed.metadata.items() >= merged.items()
        assert changed.zone == zone
        assert changed.hosts == {lab.host}


def test_ensure_removes_a_key_without_a_value(lab: Lab) -> None:
    name = lab.aggregate_of(metadata={"a": "1", "b": "1"})
    wanted = {"a": None, "b": "2", "missing": None}
    for _ in range(2):
        changed = lab.cloud.aggregates.ensure(name, None, wanted)
        assert changed.metadata == {"b": "2"} == lab.aggregate(name).metadata
    other = unique("aggregate")
    assert lab.cloud.aggregates.ensure(other, None, wanted).metadata == {"b": "2"}


def test_names_are_exact(lab: Lab) -> None:
    name = lab.aggregate_of()
    assert lab.cloud.aggregates.get(name.upper()) is None
    assert lab.cloud.aggregates.get(name[:-1]) is None


def test_hosts_join_and_leave_any_number_of_times(lab: Lab) -> None:
    aggregates, name = lab.cloud.aggregates, lab.aggregate_of()
    first, second = (host.service_host for host in lab.hosts())
    for _ in range(2):
        aggregates.add_host(name, first)
    aggregates.add_host(name, second)
    assert lab.aggregate(name).hosts == {first, second}
    for _ in range(2):
        aggregates.remove_host(name, first)
    assert lab.aggregate(name).hosts == {second}


def test_a_host_may_be_in_several_aggregates(lab: Lab) -> None:
    names = {lab.aggregate_of(lab.host) for _ in range(2)}
    assert {a.name for a in lab.cloud.aggregates.list() if lab.host in a.hosts} >= names


def test_a_host_cannot_be_in_two_zones(lab: Lab) -> None:
    aggregates, host = lab.cloud.aggregates, lab.host
    one, two = lab.aggregate_of(host, zone=unique("zone")), lab.aggregate_of(zone=unique("zone"))
    with pytest.raises(CloudTransientError, match="zone"):
        aggregates.add_host(two, host)
    aggregates.remove_host(one, host)
    aggregates.add_host(two, host)


def test_a_zone_cannot_be_changed_into_a_second_one_of_a_member(lab: Lab) -> None:
    lab.aggregate_of(lab.host, zone=unique("zone"))
    other = lab.aggregate_of(lab.host)
    with pytest.raises(CloudTransientError, match="zone"):
        lab.cloud.aggregates.ensure(other, unique("zone"), {})


def test_servers_keep_their_host_in_its_zone(lab: Lab) -> None:
    """Nova 2024.1 and later: a server cannot change its zone, so its host cannot either."""
    aggregates, host = lab.cloud.aggregates, lab.host
    name = lab.host_reservation()
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


def test_an_aggregate_keeps_its_zone(lab: Lab) -> None:
    """Nova changes a zone and takes none away, even from an aggregate without hosts."""
    name = lab.aggregate_of(zone=unique("zone"))
    with pytest.raises(CloudTransientError):
        lab.cloud.aggregates.ensure(name, None, {})
    assert lab.aggregate(name).zone is not None


def test_a_host_leaves_a_reservation_without_a_zone_with_its_servers(lab: Lab) -> None:
    """Such a reservation is known by a key of its metadata: nobody else lands there, and its owner does."""
    aggregates, host = lab.cloud.aggregates, lab.host
    mark = {"blazar:owner": lab.projects[0], POOL_KEY: "true"}
    name, pool = lab.aggregate_of(host, metadata=mark), lab.aggregate_of()
    server = lab.boot(lab.projects[0], lab.flavor_id, [name])
    assert server.service_host == host
    assert lab.boot(lab.projects[1], lab.flavor_id, [name]).status == "ERROR"
    ordinary = lab.boot(lab.projects[1], lab.flavor_id)
    assert ordinary.service_host != host
    aggregates.ensure(name, None, {"blazar:owner": "closed"})
    assert lab.aggregate(name).metadata.items() >= {"blazar:owner": "closed", POOL_KEY: "true"}.items()
    aggregates.add_host(pool, host)
    aggregates.remove_host(name, host)
    aggregates.delete(name)
    aggregates.remove_host(pool, host)
    assert [each.id for each in lab.cloud.servers.on_host(host)] == [server.id]


def test_nothing_joins_what_does_not_exist_and_it_is_removed_without_complaint(lab: Lab) -> None:
    name = unique("aggregate")
    with pytest.raises(CloudPermanentError, match=name):
        lab.cloud.aggregates.add_host(name, lab.host)
    lab.cloud.aggregates.remove_host(name, lab.host)
    lab.cloud.aggregates.delete(name)
    assert lab.cloud.aggregates.get(name) is None
    with pytest.raises(CloudPermanentError, match="no-such-host"):
        lab.cloud.aggregates.add_host(lab.aggregate_of(), "no-such-host")


def test_only_an_empty_aggregate_is_removed(lab: Lab) -> None:
    name = lab.aggregate_of(lab.host)
    with pytest.raises(CloudPermanentError, match=name):
        lab.cloud.aggregates.delete(name)
    lab.cloud.aggregates.remove_host(name, lab.host)
    for _ in range(2):
        lab.cloud.aggregates.delete(name)
    assert lab.cloud.aggregates.get(name) is None
