"""Whose the images of a lease's servers are, and what its owner is told about each of them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.api.versions import V1_1, V1_2
from leasehold.cloud.ports import COMPLETE, SAVING
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.images import SERVICE
from leasehold.cloud.sandbox.tables import servers
from leasehold.db.tables import outbox
from leasehold.model.states import EventStatus, EventType
from leasehold.resource_types.end_actions.image_results import LATE, NOT_HANDED_OVER, NOT_STARTED
from tests.factory import flavors, hosts, instances, run_for, run_until
from tests.mishaps import take_to_upload
from tests.unit.leasing.showing import show_reservation

if TYPE_CHECKING:
    from leasehold.cloud.ports import Image
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

WAIT = timedelta(minutes=30)
KINDS = pytest.mark.parametrize("asked", [hosts(), instances(2), flavors(2)], ids=["hosts", "instances", "flavors"])


@pytest.fixture
def world(world: World) -> World:
    """Return the world with a manager that waits half an hour for images."""
    return world.with_end_waits(snapshot=WAIT)


def copied(world: World, asked: dict[str, Any] | None = None) -> Lease:
    """Return an active lease with images, from hour 0 to 3; its warning is at hour 2."""
    return world.active({**(asked or hosts()), "before_end": "snapshot"}, end=3)


def images(world: World, lease: Lease) -> list[Image]:
    return list(world.cloud.images.of_reservation(lease.reservations[0].id))


def shown(world: World, lease: Lease) -> list[tuple[str, str, str | None]]:
    """Return the name, the status and the reason of each result, as owners see them."""
    seen: Any = show_reservation(world.part(lease), world.service.types, V1_2)
    return [(each["server_name"], each["status"], each["reason"]) for each in seen["images"]]


def told(world: World, event_type: str) -> Any:
    """Return the images in the payload of the last event of a type; None if it has none."""
    wanted = select(outbox.c.payload).where(outbox.c.event_type == event_type).order_by(outbox.c.id.desc())
    with world.service.db.reading() as connection:
        return connection.execute(wanted.limit(1)).scalar_one().get("images")


def warning(world: World, lease: Lease) -> EventStatus | None:
    return world.event(lease, EventType.BEFORE_END).status


@KINDS
def test_images_belong_to_the_project_of_the_lease_and_are_shown_server_by_server(
    world: World, asked: dict[str, Any]
) -> None:
    lease = copied(world, asked)
    names = {world.boot(lease, name=name).id: name for name in ("one", "two")}
    run_until(world, world.hour(2.1))
    made = {image.server_id: image for image in images(world, lease)}
    assert {image.project_id for image in made.values()} == {lease.project_id}
    answer: Any = show_reservation(world.part(lease), world.service.types, V1_2)
    seen = answer["images"]
    assert seen == [
        {"server_id": each, "server_name": names[each], "image_id": made[each].id, "status": "done", "reason": None}
        for each in sorted(names)
    ]
    assert told(world, "lease.warning.done") == [{"reservation_id": lease.reservations[0].id, **each} for each in seen]
    assert "images" not in show_reservation(world.part(lease), world.service.types, V1_1)
    run_until(world, world.hour(3.1))
    assert (world.status(lease), told(world, "lease.event.end_lease")) == (
        "TERMINATED",
        told(world, "lease.warning.done"),
    )


def test_nothing_is_shown_where_no_images_were_asked_for(world: World) -> None:
    lease = world.active(hosts(), end=3)
    world.boot(lease)
    run_until(world, world.hour(3.1))
    assert (shown(world, lease), told(world, "lease.event.end_lease")) == ([], None)


def test_an_image_belongs_to_the_service_while_it_is_uploaded(world: World) -> None:
    """The end of an upload would undo it: Glance writes the image as it was at the beginning."""
    lease = copied(world)
    world.boot(lease)
    take_to_upload(world.cloud, 600)
    run_until(world, world.hour(2.1))
    assert [(image.status, image.project_id) for image in images(world, lease)] == [(SAVING, SERVICE)]
    assert shown(world, lease) == [("server", "waiting", None)]
    run_for(world, minutes=12)
    assert [(image.status, image.project_id) for image in images(world, lease)] == [(COMPLETE, lease.project_id)]
    assert shown(world, lease) == [("server", "done", None)]


@pytest.mark.parametrize("error", ["before", "after"])
@pytest.mark.parametrize("permanent", [False, True])
def test_what_was_made_and_not_handed_over_is_handed_over_at_the_next_try(
    world: World, error: Any, *, permanent: bool
) -> None:
    lease = copied(world)
    world.boot(lease)
    world.cloud.faults.set(Fault("images.hand_over", error=error, permanent=permanent, remaining=1))
    run_until(world, world.hour(2))
    assert warning(world, lease) is EventStatus.IN_PROGRESS
    assert shown(world, lease) == [("server", "failed", NOT_HANDED_OVER)]
    run_for(world, minutes=2)
    assert [image.project_id for image in images(world, lease)] == [lease.project_id]
    assert (warning(world, lease), shown(world, lease)) == (EventStatus.DONE, [("server", "done", None)])


@KINDS
def test_an_image_that_is_completed_by_the_end_is_handed_over_before_its_server_goes(
    world: World, asked: dict[str, Any]
) -> None:
    lease = copied(world, asked)
    world.boot(lease)
    take_to_upload(world.cloud, 3600 + 600)
    run_until(world, world.hour(3.1))
    assert (world.status(lease), shown(world, lease)) == ("TERMINATING", [("server", "waiting", None)])
    run_for(world, minutes=10)
    assert (world.status(lease), shown(world, lease)) == ("TERMINATED", [("server", "done", None)])
    assert [image.project_id for image in images(world, lease)] == [lease.project_id]
    assert [each["status"] for each in told(world, "lease.event.end_lease")] == ["done"]


@KINDS
def test_an_image_that_is_refused_to_its_project_keeps_the_server_until_the_wait_is_over(
    world: World, asked: dict[str, Any]
) -> None:
    lease = copied(world, asked)
    world.boot(lease)
    world.refuse("images.hand_over")
    run_until(world, world.hour(3.1))
    assert (world.status(lease), len(world.servers())) == ("TERMINATING", 1)
    assert "the end waits until" in world.reason(lease)
    run_until(world, world.hour(3.6))
    assert (world.status(lease), len(world.servers())) == ("TERMINATED", 0)
    assert "without 1 of the images" in world.reason(lease)
    assert shown(world, lease) == [("server", "failed", NOT_HANDED_OVER)]
    assert [image.project_id for image in images(world, lease)] == [SERVICE]


def test_each_server_has_its_own_result(world: World) -> None:
    lease = copied(world)
    world.boot(lease, name="quick")
    run_until(world, world.hour(1.9))
    take_to_upload(world.cloud, 24 * 3600)
    world.boot(lease, name="slow")
    world.cloud.faults.set(Fault("images.snapshot", error="before", permanent=True, remaining=1))
    run_until(world, world.hour(2))
    assert min(shown(world, lease))[1:] in {("failed", NOT_STARTED), ("waiting", None)}
    run_until(world, world.hour(3.6))
    assert sorted(shown(world, lease)) == [("quick", "failed", LATE), ("slow", "failed", LATE)]
    assert "without 2 of the images" in world.reason(lease)


def test_a_result_outlives_the_server_and_the_image(world: World) -> None:
    """The owner may use up an image, and delete its server, while other images are still uploaded."""
    lease = copied(world)
    first = world.boot(lease, name="first")
    run_until(world, world.hour(2))
    assert shown(world, lease) == [("first", "done", None)]
    world.amend(lease, end=4)
    assert shown(world, lease) == [("first", "done", None)]
    world.cloud.servers.delete(first.id)
    run_until(world, world.hour(4.1))
    assert shown(world, lease) == []


def test_an_image_of_another_projects_server_is_not_given_to_the_project_of_the_lease(world: World) -> None:
    """The scheduler sends it to no such host, but an administrator can."""
    lease = copied(world)
    ours = world.boot(lease)
    foreign = world.cloud.servers.boot("foreign", "alt", "m1.small")
    world.execute(update(servers).where(servers.c.id == foreign.id).values(service_host=ours.service_host))
    run_until(world, world.hour(2.1))
    owners = {image.server_id: image.project_id for image in images(world, lease)}
    assert owners == {ours.id: lease.project_id, foreign.id: "alt"}


def test_what_an_earlier_warning_left_is_handed_over_by_the_next(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    world.refuse("images.hand_over")
    run_until(world, world.hour(2))
    world.amend(lease, end=5)
    world.cloud.faults.clear()
    run_until(world, world.hour(4.1))
    assert [image.project_id for image in images(world, lease)] == [lease.project_id] * 2


def test_a_deletion_hands_over_what_was_being_uploaded(world: World) -> None:
    lease = copied(world)
    world.boot(lease)
    take_to_upload(world.cloud, 600)
    run_until(world, world.hour(2.05))
    world.delete(lease)
    run_for(world, minutes=12)
    assert (world.exists(lease), [image.project_id for image in images(world, lease)]) == (False, [lease.project_id])
