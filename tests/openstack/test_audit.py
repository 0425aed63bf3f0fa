"""Changes by hand to the resources that leases have in Nova: the audit reports them, and repairs what it may.

First with a manager without periodic audits, so that nothing is repaired before a request; then with one that has them.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.leasehold import FREE_POOL, running_leasehold
from tests.openstack.person import BY_SIZE, HOST, Person, minute, nothing_left
from tests.processes import WARM, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

MENDED_WITHIN = 90.0
ENROLLED = 3


@pytest.fixture(scope="module")
def leasehold(cloud: RunningCloud) -> Iterator[RunningLeasehold]:
    """Yield a new Leasehold with some computes enrolled, whose manager runs no periodic audits."""
    admin = Person(cloud, "admin")
    with (
        running_leasehold(cloud, "audited", {"manager": {"audit_seconds": 0}}) as running,
        nothing_left(admin),
        ExitStack() as undo,
    ):
        for name in cloud.computes[:ENROLLED]:
            undo.callback(admin.blazar.host.delete, admin.blazar.host.create(name=name)["id"])
        yield running


@pytest.fixture
def rounds(leasehold: RunningLeasehold) -> Iterator[None]:
    """Run a manager with an audit every two seconds."""
    usual = leasehold.options["manager"]["audit_seconds"]
    for seconds in (2, usual):
        leasehold.stop_manager()
        leasehold.options["manager"]["audit_seconds"] = seconds
        leasehold.start_manager()
        if seconds != usual:
            yield


@pytest.fixture
def admin(cloud: RunningCloud) -> Person:
    return Person(cloud, "admin")


@pytest.fixture
def demo(cloud: RunningCloud) -> Person:
    return Person(cloud, "demo")


def audit(leasehold: RunningLeasehold, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code of `leasehold-manage audit`, and its findings."""
    words = ("audit", "--json", "--config-file", str(leasehold.config_file), *options)
    done = WARM.run("leasehold-manage", *words, environment=os.environ)
    report = json.loads(done.stdout)
    assert report["cloud"]["looked_at"], done.stdout
    return done.returncode, report["findings"]


def lease_of_both(demo: Person) -> tuple[dict[str, Any], str, str]:
    """Return an active lease of a host and of slots for instances, with the ids of the two reservations."""
    made = demo.blazar.lease.create(
        name="audited", start="now", end=minute(hours=1), reservations=[HOST, BY_SIZE], events=[]
    )
    lease = demo.lease_with_status(made["id"], "ACTIVE")
    ids = {part["resource_type"]: str(part["id"]) for part in lease["reservations"]}
    return lease, ids["physical:host"], ids["virtual:instance"]


def take_the_host_out(admin: Person, reservation_id: str) -> str:
    """Move the host of a reservation back to the free pool, as an operator might by mistake; return its name."""
    leased = admin.sdk.compute.find_aggregate(reservation_id, ignore_missing=False)
    (host,) = leased.hosts
    admin.sdk.compute.remove_host_from_aggregate(leased, host)
    admin.sdk.compute.add_host_to_aggregate(admin.sdk.compute.find_aggregate(FREE_POOL, ignore_missing=False), host)
    return str(host)


def members(admin: Person, name: str) -> set[str]:
    found = admin.sdk.compute.find_aggregate(name)
    return set(found.hosts or ()) if found else set()


def is_whole(admin: Person, demo: Person, on_hosts: str, of_slots: str, host: str) -> bool:
    """Return whether the host is only in its lease's aggregate, and the flavor and aggregate of the slots exist."""
    return (
        members(admin, on_hosts) == {host}
        and host not in members(admin, FREE_POOL)
        and demo.sdk.compute.find_flavor(of_slots) is not None
        and bool(members(admin, of_slots))
    )


def test_the_audit_sees_what_is_changed_by_hand_and_repairs_it_when_asked(
    leasehold: RunningLeasehold, admin: Person, demo: Person
) -> None:
    assert audit(leasehold) == (0, [])
    lease, on_hosts, of_slots = lease_of_both(demo)
    assert audit(leasehold) == (0, [])
    host = take_the_host_out(admin, on_hosts)
    admin.sdk.compute.delete_flavor(of_slots)
    code, (found,) = audit(leasehold)
    assert (code, found["kind"], found["subject"], found["mended"]) == (1, "drift", lease["id"], None)
    assert f"host {host} is not in aggregate {on_hosts}" in found["what"]
    assert f"flavor {of_slots} does not exist" in found["what"]
    code, (found,) = audit(leasehold, "--repair")
    assert (code, found["subject"]) == (0, lease["id"])
    assert found["mended"]
    wait_for(lambda: is_whole(admin, demo, on_hosts, of_slots, host), within=MENDED_WITHIN)
    assert demo.boots(of_slots)
    assert demo.boots(str(demo.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id), on_hosts)
    demo.delete(lease)
    assert audit(leasehold) == (0, [])


def test_a_manager_mends_by_itself_what_is_changed_by_hand_and_touches_no_server(
    leasehold: RunningLeasehold, rounds: None, admin: Person, demo: Person
) -> None:
    lease, on_hosts, of_slots = lease_of_both(demo)
    inside = demo.boot(of_slots)
    assert demo.outcome(inside) == "ACTIVE"
    host = take_the_host_out(admin, on_hosts)
    admin.sdk.compute.delete_aggregate(admin.sdk.compute.find_aggregate(on_hosts))
    admin.sdk.compute.delete_flavor(of_slots)
    pool = admin.sdk.compute.find_aggregate(FREE_POOL, ignore_missing=False)
    free = min(set(pool.hosts) - {host} - members(admin, of_slots))
    admin.sdk.compute.remove_host_from_aggregate(pool, free)
    wait_for(lambda: is_whole(admin, demo, on_hosts, of_slots, host), within=MENDED_WITHIN)
    wait_for(lambda: free in members(admin, FREE_POOL), within=MENDED_WITHIN)
    assert demo.sdk.compute.get_server(inside).status == "ACTIVE"
    assert f"Audit: Lease {lease['id']} is ACTIVE, but " in leasehold.manager_log()
    assert demo.boots(of_slots)
    # Nova finds no server by a recreated flavor, so the owner deletes the server of the first one.
    demo.sdk.compute.delete_server(inside)
    demo.delete(lease)
    wait_for(lambda: audit(leasehold) == (0, []), within=MENDED_WITHIN)


def test_a_server_group_that_a_lease_has_left_is_removed_unless_servers_are_in_it(
    leasehold: RunningLeasehold, admin: Person, demo: Person
) -> None:
    lease, _, of_slots = lease_of_both(demo)
    name = f"reservation:{of_slots}"
    group = str(demo.sdk.compute.create_server_group(name=name, policy="anti-affinity").id)
    assert audit(leasehold) == (0, [])
    demo.delete(lease)
    inside = demo.boot(str(demo.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id), group_id=group)
    demo.outcome(inside)
    code, (found,) = audit(leasehold, "--repair")
    assert (code, found["kind"], found["subject"], found["mended"]) == (1, "leftover", of_slots, None)
    assert f"server group {group}" in found["what"]
    demo.sdk.compute.delete_server(inside)
    wait_for(lambda: inside not in demo.servers(), within=MENDED_WITHIN)
    code, (found,) = audit(leasehold, "--repair")
    assert (code, found["mended"]) == (0, f"Removed: server group {group}.")
    assert group not in {each.id for each in admin.sdk.compute.server_groups(all_projects=True)}
    assert audit(leasehold) == (0, [])
