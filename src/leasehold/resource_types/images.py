"""Images of a lease's servers before its end: every warning starts new ones, and the end waits for them.

The metadata of an image name its reservation and the time of the warning: a lease that is extended after its warning is
warned again, and gets new images of its servers. The contract defines the name of an image (lifecycle §2.4).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import FAILED, RESERVATION_OF_IMAGE, SAVING, CloudPermanentError, CloudTransientError
from leasehold.resource_types.attempts import for_each
from leasehold.resource_types.driver import UNSAVED, LearnedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from leasehold.cloud.ports import Cloud, Image, Server
    from leasehold.resource_types.driver import Job

log = logging.getLogger(__name__)

WARNING_OF_IMAGE = "leasehold_warning"
IMAGES = "images of its servers"
_NEVER = frozenset({"DELETING", "ERROR"})
"""The statuses of servers of which Nova makes no image."""
_COPIED = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"})
"""The statuses of servers of which Nova makes images; an end does not wait for servers in other statuses."""


def take_images(cloud: Cloud, job: Job[Any], there: Sequence[Server]) -> None:
    """Start the missing images of the warning; raises CloudTransientError until all are complete."""
    servers = [server for server in there if server.status not in _NEVER]
    for_each(_lacking(cloud, job, servers), lambda server: _take(cloud, job, servers, server), patient=True)
    saving = _saving(cloud.images.of_reservation(job.name)) & {server.id for server in servers}
    if saving:
        message = f"{len(saving)} images of servers are still being uploaded"
        raise CloudTransientError(message)


def awaiting_images(cloud: Cloud, job: Job[Any], servers: Sequence[Server]) -> frozenset[str]:
    """Return the servers whose images the end still waits for; none when the wait is over.

    Images that the warning could not start are started now. Raises LearnedError, once, with the number of missing
    images, before the end continues without them.
    """
    if UNSAVED in job.reservation.cloud:
        return frozenset()
    waiting = _take_late(cloud, job, [server for server in servers if server.status in _COPIED])
    waiting |= _saving(cloud.images.of_reservation(job.name)) & {server.id for server in servers}
    if waiting and job.wait_until is not None:
        return waiting
    missing = _without(cloud, job, [server for server in servers if server.status != "DELETING"])
    if missing:
        text = "Reservation %s ends without images of the servers %s: they were not complete in time"
        log.warning(text, job.name, ", ".join(missing))
    if missing and job.warned is not None:
        message = f"{len(missing)} images were not complete in time; the end goes on without them"
        raise LearnedError(message, {UNSAVED: {IMAGES: len(missing)}})
    return frozenset()


def say_waiting(job: Job[Any], servers: Collection[str]) -> None:
    """Raise CloudTransientError, with how many images the end waits for and until when, if there are such servers."""
    if servers:
        message = f"{len(servers)} images of servers are still being uploaded"
        raise CloudTransientError(message + (f"; the end waits until {job.wait_until:%Y-%m-%d %H:%M} UTC at most"))


def _metadata(job: Job[Any]) -> dict[str, str]:
    return {
        RESERVATION_OF_IMAGE: job.name,
        WARNING_OF_IMAGE: "" if job.warned is None else job.warned.isoformat(),
    }


def _lacking(cloud: Cloud, job: Job[Any], servers: Sequence[Server]) -> list[str]:
    """Return the servers without an image of this warning, or with failed ones only."""
    metadata = _metadata(job)
    there = cloud.images.of_reservation(job.name) if servers else ()
    have = {image.server_id for image in there if image.metadata == metadata and image.status != FAILED}
    return [server.id for server in servers if server.id not in have]


def _take(cloud: Cloud, job: Job[Any], servers: Sequence[Server], server_id: str) -> None:
    """Start one image. A refusal raises CloudTransientError, because the server may be gone at the next try."""
    name = next(server.name for server in servers if server.id == server_id)
    try:
        cloud.images.snapshot(server_id, f"{job.settings.image_prefix}{name}", _metadata(job))
    except CloudPermanentError as error:
        raise CloudTransientError(str(error)) from error


def _take_late(cloud: Cloud, job: Job[Any], servers: Sequence[Server]) -> frozenset[str]:
    """Start the images that the warning could not start, and return the servers whose image is refused now."""
    if job.warned is None or job.wait_until is None:
        return frozenset()
    refused = set()
    for server in _lacking(cloud, job, servers):
        try:
            _take(cloud, job, servers, server)
        except CloudTransientError as error:
            log.info("Reservation %s: no image of server %s yet: %s", job.name, server, error)
            refused.add(server)
    return frozenset(refused)


def _without(cloud: Cloud, job: Job[Any], servers: Sequence[Server]) -> list[str]:
    """Return the servers without a complete image although one was started or due."""
    if job.warned is not None:
        metadata = _metadata(job)
        there = [image for image in cloud.images.of_reservation(job.name) if image.metadata == metadata]
        complete = {image.server_id for image in there if image.status not in (FAILED, SAVING)}
        return [server.id for server in servers if server.id not in complete]
    saving = _saving(cloud.images.of_reservation(job.name))
    return [server.id for server in servers if server.id in saving]


def _saving(images: Iterable[Image]) -> frozenset[str]:
    return frozenset(image.server_id for image in images if image.status == SAVING)
