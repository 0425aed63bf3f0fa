"""Preemptible servers on the real cloud: a lease starts on a host to which Nova is sending servers at that moment."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from openstack.exceptions import NotFoundException

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.resource_types.displacement import close_hosts, open_all
from tests.openstack.leasehold import QUICK, configuration, running_leasehold
from tests.openstack.person import HOST, Person, minute, nothing_left
from tests.openstack.test_scheduler import flavor, preemptibles_allowed
from tests.processes import as_text, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud

__all__ = ["preemptibles_allowed"]

WITHIN = 90.0


@contextmanager
def paused(cloud: RunningCloud, name: str) -> Iterator[ExitStack]:
    """Suspend a service of the cloud; the stack that is yielded resumes it, at the latest at the end."""
    with ExitStack() as resume:
        resume.callback(cloud.resume_service, name)
        cloud.suspend_service(name)
        yield resume


def test_no_server_lands_on_a_host_that_a_lease_is_getting(
    cloud: RunningCloud, tmp_path: Path, preemptibles_allowed: None
) -> None:
    """One boot has passed the scheduler and waits for its compute; another one waits for the scheduler."""
    admin, demo, alt = (Person(cloud, name) for name in ("admin", "demo", "alt"))
    name = cloud.computes[0]
    file = tmp_path / "leasehold.conf"
    file.write_text(as_text(configuration(cloud, "sqlite://", {})))
    ports = openstack_cloud(conf.load(["--config-file", str(file)]).raw)
    with (
        running_leasehold(cloud, "preemptible", QUICK) as leasehold,
        flavor(admin.sdk, {"blazar:preemptible": "true"}) as preemptible,
        nothing_left(admin),
    ):
        host = admin.blazar.host.create(name=name)
        early = alt.boot(preemptible)
        assert alt.outcome(early) == "ACTIVE"
        with paused(cloud, name) as compute:
            on_its_way = alt.boot(preemptible)
            # Not by claiming: that would take the room from a boot that has not passed the scheduler yet.
            wait_for(lambda: has_room(admin, on_its_way), within=WITHIN)
            assert on_its_way in ports.providers.claim_rest(name)
            ports.providers.release_claims(name)
            assert on_its_way not in {each.id for each in ports.servers.on_host(name)}
            with paused(cloud, "nova-scheduler") as scheduler:
                too_late = alt.boot(preemptible)
                lease = demo.promise(HOST, "now", minute(hours=1))
                wait_for(lambda: bool(ports.providers.claimed({name})), within=WITHIN)
                wait_for(lambda: "are on their way to it" in leasehold.manager_log(), within=WITHIN)
                scheduler.close()
            # It may be faster than the claim of what the first server has left: then it is deleted on its way.
            assert outcome_or_gone(alt, too_late) in ("ERROR", "gone")
            compute.close()
        demo.lease_with_status(lease["id"], "ACTIVE", within=2 * WITHIN)
        assert ports.servers.on_host(name) == []
        assert not ports.providers.claimed({name})
        assert not ports.servers.with_ids({early, on_its_way})
        assert demo.boots(str(demo.sdk.compute.find_flavor("m1.nano").id), lease["reservations"][0]["id"])
        demo.delete(lease)
        assert not ports.providers.claimed({name})
        alt.sdk.compute.delete_server(too_late)
        admin.blazar.host.delete(host["id"])


def test_no_preemptible_server_comes_to_a_host_whose_lease_starts_soon(
    cloud: RunningCloud, tmp_path: Path, preemptibles_allowed: None
) -> None:
    """Preemptible servers run on enrolled hosts only, and this is the only one.

    A manager without a grace period would open the host, so none runs meanwhile.
    """
    admin, alt = Person(cloud, "admin"), Person(cloud, "alt")
    name = cloud.computes[0]
    file = tmp_path / "leasehold.conf"
    file.write_text(as_text(configuration(cloud, "sqlite://", {})))
    ports = openstack_cloud(conf.load(["--config-file", str(file)]).raw)
    with (
        running_leasehold(cloud, "closed", QUICK) as leasehold,
        flavor(admin.sdk, {"blazar:preemptible": "true"}) as preemptible,
        nothing_left(admin),
        ExitStack() as undo,
    ):
        host = admin.blazar.host.create(name=name)
        undo.callback(admin.blazar.host.delete, host["id"])
        wait_for(lambda: (pool := ports.aggregates.get("freepool")) is not None and name in pool.hosts, within=WITHIN)
        leasehold.stop_manager()
        undo.callback(leasehold.start_manager)
        undo.callback(open_all, ports)
        close_hosts(ports, {name})
        close_hosts(ports, {name})
        refused = alt.boot(preemptible)
        undo.callback(alt.sdk.compute.delete_server, refused)
        assert alt.outcome(refused) == "ERROR"
        close_hosts(ports, ())
        admitted = alt.boot(preemptible)
        assert alt.outcome(admitted) == "ACTIVE"
        alt.sdk.compute.delete_server(admitted)
        wait_for(lambda: not ports.servers.on_host(name), within=WITHIN)


def has_room(admin: Person, server_id: str) -> bool:
    """Return whether the scheduler has given the server room on a host."""
    return bool(admin.sdk.placement.get(f"/allocations/{server_id}").json()["allocations"])


def outcome_or_gone(person: Person, server_id: str) -> str:
    """Return what becomes of a boot; `gone` if somebody deletes the server first."""
    try:
        return person.outcome(server_id)
    except NotFoundException:
        return "gone"


@pytest.fixture(autouse=True)
def everything_runs(cloud: RunningCloud) -> Iterator[None]:
    """Check that a failure leaves no service suspended."""
    yield
    assert all(cloud.is_alive(name) for name in ("nova-scheduler", cloud.computes[0]))
