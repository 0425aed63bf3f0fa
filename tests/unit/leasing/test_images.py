"""Images of a lease's servers: each warning takes its own, and no server is deleted while its image is uploaded."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, select, update

from leasehold.cloud.ports import COMPLETE, FAILED, SAVING
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.tables import servers, snapshots
from leasehold.db.tables import outbox
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from tests.factory import flavors, hosts, instances, run_for, run_manager, run_until
from tests.mishaps import fail_upload, take_to_upload
from tests.unit.leasing.looking import findings, in_database

if TYPE_CHECKING:
    from leasehold.cloud.ports import Image
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

WAIT = timedelta(minutes=30)


def copied(world: World) -> Lease:
    """Return an active lease of one host with images, from hour 0 to 3; its warning is at hour 2."""
    return world.active(hosts(before_end="snapshot"), end=3)


def images(world: World, lease: Lease) -> list[Image]:
    return list(world.cloud.images.of_reservation(lease.reservations[0].id))


def statuses(world: World, lease: Lease) -> list[str]:
    return [image.status for image in images(world, lease)]


def warning(world: World, lease: Lease) -> EventStatus | None:
    return world.event(lease, EventType.BEFORE_END).status


def there(world: World) -> set[str]:
    return {server.name for server in world.cloud.servers.all() if server.status != "DELETING"}


def told(world: World) -> list[str]:
    with world.service.db.reading() as connection:
        return list(connection.execute(select(outbox.c.event_type).order_by(outbox.c.id)).scalars())


def audited(world: World) -> list[str]:
    return [each.what for each in (*in_database(world), *findings(world))]


@pytest.fixture
def patient(world: World) -> World:
    """Return the world with a manager that waits half an hour for images."""
    return world.with_end_waits(snapshot=WAIT)


def test_a_lease_extended_after_its_warning_has_images_of_the_new_end(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    run_until(world, world.hour(2.5))
    assert statuses(world, lease) == [COMPLETE]
    world.amend(lease, end=5)
    world.boot(lease, name="later")
    run_until(world, world.hour(5.5))
    warnings = sorted((image.metadata["leasehold_warning"], image.name) for image in images(world, lease))
    first, second = world.hour(2).isoformat(), world.hour(4).isoformat()
    assert warnings == [(first, "reserved_server"), (second, "reserved_later"), (second, "reserved_server")]
    assert world.get(lease).status is LeaseStatus.TERMINATED
    assert not there(world)


def test_the_warning_is_told_when_it_comes_and_done_when_its_images_are_complete(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    take_to_upload(world.cloud, 600)
    run_until(world, world.hour(2))
    assert told(world)[-1] == "lease.event.before_end_lease"
    assert warning(world, lease) is EventStatus.IN_PROGRESS
    assert world.reason(lease) == "Waiting for the cloud: 1 images of servers are still being uploaded."
    assert not audited(world)
    run_for(world, minutes=12)
    assert warning(world, lease) is EventStatus.DONE
    assert world.get(lease).status_reason is None
    assert told(world).count("lease.event.before_end_lease") == 1


@pytest.mark.parametrize("asked", [instances(2), flavors(2)])
def test_images_of_instances_are_made_before_the_end_and_waited_for(patient: World, asked: dict[str, Any]) -> None:
    lease = patient.active({**asked, "before_end": "snapshot"}, end=3)
    patient.boot(lease, name="one")
    run_until(patient, patient.hour(2.5))
    assert (statuses(patient, lease), warning(patient, lease)) == ([COMPLETE], EventStatus.DONE)
    patient.amend(lease, end=4, before_end=3.5)
    patient.boot(lease, name="two")
    take_to_upload(patient.cloud, 2400)
    run_until(patient, patient.hour(4.1))
    assert (patient.status(lease), there(patient)) == ("TERMINATING", {"one", "two"})
    assert "2 images of servers are still being uploaded; the end waits until" in patient.reason(lease)
    assert not audited(patient)
    run_until(patient, patient.hour(4.5))
    assert (patient.status(lease), there(patient), statuses(patient, lease)) == ("TERMINATED", set(), [COMPLETE] * 3)


def test_images_of_instances_that_are_late_are_said_and_not_waited_for_longer(patient: World) -> None:
    lease = patient.active(instances(before_end="snapshot"), end=3)
    patient.boot(lease)
    take_to_upload(patient.cloud, 24 * 3600)
    run_until(patient, patient.hour(3.6))
    assert (patient.status(lease), there(patient)) == ("TERMINATED", set())
    assert "without 1 of the images of its servers" in patient.reason(lease)


def test_instances_have_images_only_if_they_are_asked_for(world: World) -> None:
    lease = world.active(instances(), end=3)
    world.boot(lease)
    run_until(world, world.hour(3.1))
    assert (world.status(lease), images(world, lease)) == ("TERMINATED", [])


def test_an_image_that_fails_is_made_again_while_the_warning_stands(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    take_to_upload(world.cloud, 600)
    run_until(world, world.hour(2.1))
    fail_upload(world.cloud, images(world, lease)[0].id)
    run_for(world, minutes=2)
    assert sorted(statuses(world, lease)) == [FAILED, SAVING]
    run_until(world, world.hour(3))
    assert sorted(statuses(world, lease)) == [COMPLETE, FAILED]
    assert (world.get(lease).status, warning(world, lease)) == (LeaseStatus.TERMINATED, EventStatus.DONE)


def test_one_refusal_does_not_end_the_making_of_images(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    world.cloud.faults.set(Fault("images.snapshot", error="before", permanent=True, remaining=3))
    run_until(world, world.hour(2.5))
    assert (statuses(world, lease), warning(world, lease)) == ([COMPLETE], EventStatus.DONE)


def test_a_server_of_which_no_image_can_be_made_holds_up_no_warning(world: World) -> None:
    lease = copied(world)
    server = world.boot(lease)
    world.cloud.servers.take_to("delete", 3600 * 24)
    world.cloud.servers.delete(server.id)
    run_until(world, world.hour(2))
    assert (statuses(world, lease), warning(world, lease)) == ([], EventStatus.DONE)


def test_the_end_waits_for_an_image_that_is_being_uploaded(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 3600 + 600)
    run_until(patient, patient.hour(3) + timedelta(minutes=5))
    assert (patient.status(lease), there(patient), statuses(patient, lease)) == ("TERMINATING", {"server"}, [SAVING])
    reason = patient.reason(lease)
    assert "1 images of servers are still being uploaded; the end waits until 2031-05-01 12:30 UTC" in reason
    assert not audited(patient)
    run_until(patient, patient.hour(3) + timedelta(minutes=12))
    assert (patient.get(lease).status, there(patient)) == (LeaseStatus.TERMINATED, set())
    assert (statuses(patient, lease), warning(patient, lease)) == ([COMPLETE], EventStatus.DONE)
    assert patient.get(lease).status_reason is None


def test_meanwhile_servers_with_a_complete_image_go_and_the_host_stays(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease, name="quick")
    run_until(patient, patient.hour(1.9))
    take_to_upload(patient.cloud, 3600 + 600)
    run_until(patient, patient.hour(2))
    slow = images(patient, lease)[0]
    assert slow.status == SAVING
    take_to_upload(patient.cloud, 0)
    patient.boot(lease, name="booted after the warning")
    run_until(patient, patient.hour(3) + timedelta(minutes=1))
    assert there(patient) == {"quick"}
    assert patient.members(lease.reservations[0].id)


def test_the_end_goes_on_without_images_in_the_end_and_says_so(
    patient: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    lease = copied(patient)
    server = patient.boot(lease)
    following = patient.lease(hosts(5), start=3, end=4)
    take_to_upload(patient.cloud, 3600 * 24)
    run_until(patient, patient.hour(3) + WAIT - timedelta(seconds=1))
    assert (patient.get(lease).status, there(patient)) == (LeaseStatus.TERMINATING, {"server"})
    run_until(patient, patient.hour(3) + WAIT + timedelta(minutes=3))
    ended = (patient.status(lease), warning(patient, lease), there(patient))
    assert ended == ("TERMINATED", EventStatus.ERROR, set())
    assert "ended without 1 of the images of its servers" in patient.reason(lease)
    assert any(server.id in message and "without images" in message for message in caplog.messages)
    assert told(patient).count("lease.event.end_lease") == 1
    run_for(patient, minutes=10)
    assert patient.get(following).status is LeaseStatus.ACTIVE
    assert not audited(patient)


def test_an_end_that_was_decided_goes_on_without_waiting_again(patient: World) -> None:
    """The decision, stored before the first server is deleted, survives a crash between two deletions."""
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 3600 * 24)
    patient.cloud.servers.take_to("delete", 120)
    run_until(patient, patient.hour(3) + WAIT + timedelta(minutes=10))
    assert patient.get(lease).status is LeaseStatus.TERMINATED
    assert "without 1 of the images" in patient.reason(lease)


@pytest.mark.parametrize("warned", [True, False], ids=["warned at its start", "never warned"])
@pytest.mark.parametrize("asked", [hosts(), instances(2), flavors(2)], ids=["hosts", "instances", "flavors"])
def test_what_is_booted_after_the_warning_has_an_image_before_the_end_deletes_it(
    patient: World, asked: dict[str, Any], *, warned: bool
) -> None:
    """A lease that is shorter than its warning is warned before its owner can boot anything."""
    settings = replace(patient.service.settings.leases, before_end=timedelta(hours=1 if warned else 0))
    world = patient.with_settings(leases=settings)
    lease = world.active({**asked, "before_end": "snapshot"}, end=0.5)
    assert [event.status for event in world.get(lease).events if event.type == EventType.BEFORE_END] == (
        [EventStatus.DONE] if warned else []
    )
    names = {world.boot(lease, name=name).id: name for name in ("runs", "suspended")}
    world.execute(update(servers).where(servers.c.name == "suspended").values(status="SUSPENDED"))
    take_to_upload(world.cloud, 600)
    run_until(world, world.hour(0.6))
    assert (world.status(lease), there(world)) == ("TERMINATING", set(names.values()))
    assert not audited(world)
    run_until(world, world.hour(0.8))
    assert (world.status(lease), world.get(lease).status_reason, there(world)) == ("TERMINATED", None, set())
    found = [(each.server_id, each.status, each.project_id) for each in images(world, lease)]
    assert sorted(found) == [(ident, COMPLETE, lease.project_id) for ident in sorted(names)]


def test_an_end_makes_no_second_image_of_what_its_owner_has_used_up(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    run_until(patient, patient.hour(2.5))
    patient.execute(delete(snapshots))
    run_until(patient, patient.hour(3.1))
    assert (patient.status(lease), patient.get(lease).status_reason) == ("TERMINATED", None)
    assert (images(patient, lease), warning(patient, lease)) == ([], EventStatus.DONE)


@pytest.mark.parametrize("asked", [hosts(), instances(2), flavors(2)], ids=["hosts", "instances", "flavors"])
def test_an_end_says_of_which_servers_the_cloud_makes_no_image(patient: World, asked: dict[str, Any]) -> None:
    lease = patient.active({**asked, "before_end": "snapshot"}, end=0.5)
    patient.cloud.servers.shelve(patient.boot(lease, name="shelved").id)
    patient.boot(lease, name="broken")
    patient.execute(update(servers).where(servers.c.name == "broken").values(status="ERROR"))
    run_until(patient, patient.hour(0.6))
    assert (patient.status(lease), there(patient), images(patient, lease)) == ("TERMINATED", set(), [])
    assert patient.reason(lease) == (
        "The lease ended without 2 of the images of its servers. The server was in ERROR, in which the cloud makes no "
        "image. The server was in SHELVED, in which the cloud makes no image."
    )


@pytest.mark.parametrize("asked", [instances(2), flavors(2)], ids=["instances", "flavors"])
def test_an_end_says_that_a_server_without_a_host_has_no_image(patient: World, asked: dict[str, Any]) -> None:
    """Its flavor ends with the lease, so it is deleted wherever it is."""
    lease = patient.active({**asked, "before_end": "snapshot"}, end=0.5)
    server = patient.boot(lease)
    patient.cloud.servers.shelve(server.id)
    patient.cloud.servers.offload(server.id)
    run_until(patient, patient.hour(0.6))
    assert (patient.status(lease), there(patient)) == ("TERMINATED", set())
    assert "The server was in SHELVED_OFFLOADED, in which the cloud makes no image." in patient.reason(lease)


def test_nothing_comes_to_a_lease_that_waits_for_its_images(patient: World) -> None:
    """The end would delete it without an image."""
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 2 * 3600)
    run_until(patient, patient.hour(3.1))
    late = patient.cloud.servers.boot("late", lease.project_id, "m1.small", [lease.reservations[0].id])
    assert (patient.status(lease), late.service_host) == ("TERMINATING", None)


def test_a_manager_that_was_away_at_the_warning_takes_the_images_at_the_end(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 300)
    patient.clock.set(patient.hour(5))
    run_manager(patient)
    assert (there(patient), statuses(patient, lease)) == ({"server"}, [SAVING])
    run_for(patient, minutes=10)
    assert (patient.get(lease).status, there(patient)) == (LeaseStatus.TERMINATED, set())
    assert statuses(patient, lease) == [COMPLETE]


def test_a_deletion_waits_for_what_is_being_uploaded_and_starts_no_more(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 600)
    run_until(patient, patient.hour(2.05))
    patient.boot(lease, name="not copied")
    patient.delete(lease)
    run_for(patient, minutes=1)
    assert (there(patient), patient.get(lease).status) == ({"server"}, LeaseStatus.DELETING)
    run_for(patient, minutes=10)
    assert (patient.exists(lease), there(patient), statuses(patient, lease)) == (False, set(), [COMPLETE])


def test_a_deletion_waits_no_longer_than_an_end_does(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 3600 * 24)
    run_until(patient, patient.hour(2.05))
    patient.delete(lease)
    run_for(patient, seconds=WAIT.total_seconds() - 30)
    assert there(patient) == {"server"}
    run_for(patient, minutes=3)
    assert (patient.exists(lease), there(patient)) == (False, set())


def test_a_deletion_before_the_warning_waits_for_nothing(patient: World) -> None:
    lease = copied(patient)
    patient.boot(lease)
    take_to_upload(patient.cloud, 600)
    patient.delete(lease)
    run_manager(patient)
    assert (patient.exists(lease), there(patient), images(patient, lease)) == (False, set(), [])
