"""Images of a lease's servers before its end: each warning has its own, and the end waits for them.

An image belongs to a server and a warning, which its metadata name: a lease that is extended after its warning is
warned again, and its servers are copied again. The name of an image is the contract's (lifecycle §2.4).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import FAILED, RESERVATION_OF_IMAGE, SAVING, CloudPermanentError, CloudTransientError
from leasehold.resource_types.attempts import for_each
from leasehold.resource_types.driver import LearnedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from leasehold.cloud.ports import Cloud, Image, Server
    from leasehold.resource_types.driver import Job
    from leasehold.resource_types.host.kind import HostRequest

log = logging.getLogger(__name__)

WARNING_OF_IMAGE = "leasehold_warning"
IMAGES_MISSING = "images_missing"
"""The fact that says without how many of the images that were asked for a reservation ended."""
_NEVER = frozenset({"DELETING", "ERROR"})
"""Statuses of servers of which no image can be made."""
_COPIED = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"})
"""Statuses of servers of which Nova makes images; others may get there, which is not worth an end's waiting."""


def asks_for_images(job: Job[HostRequest]) -> bool:
    """Say whether the servers are to be copied before the end."""
    action = job.request.before_end
    return (job.settings.default_before_end if action == "default" else action) == "snapshot"


def take_images(cloud: Cloud, job: Job[HostRequest], hosts: Iterable[str]) -> None:
    """Start what is missing of the warning's images; raises CloudTransientError until all of them are complete."""
    if not asks_for_images(job):
        return
    servers = [server for server in _on(cloud, hosts) if server.status not in _NEVER]
    for_each(_lacking(cloud, job, servers), lambda server: _take(cloud, job, servers, server), patient=True)
    saving = _saving(cloud.images.of_reservation(job.name)) & {server.id for server in servers}
    if saving:
        message = f"{len(saving)} images of servers are still being uploaded"
        raise CloudTransientError(message)


def spared(cloud: Cloud, job: Job[HostRequest], hosts: Iterable[str]) -> frozenset[str]:
    """Return the servers whose images the end still waits for; none when it has waited long enough.

    What the warning has left to do is done now. Raises LearnedError, once, before the end goes on without images.
    """
    if not asks_for_images(job) or IMAGES_MISSING in job.reservation.cloud:
        return frozenset()
    servers = _on(cloud, hosts)
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
        raise LearnedError(message, {IMAGES_MISSING: len(missing)})
    return frozenset()


def say_waiting(job: Job[HostRequest], servers: Collection[str]) -> None:
    """Raise CloudTransientError, which says for how many images the end waits and until when; none is fine."""
    if servers:
        message = f"{len(servers)} images of servers are still being uploaded"
        raise CloudTransientError(message + (f"; the end waits until {job.wait_until:%Y-%m-%d %H:%M} UTC at most"))


def _on(cloud: Cloud, hosts: Iterable[str]) -> list[Server]:
    return [server for host in sorted(hosts) for server in cloud.servers.on_host(host)]


def _metadata(job: Job[HostRequest]) -> dict[str, str]:
    return {
        RESERVATION_OF_IMAGE: job.name,
        WARNING_OF_IMAGE: "" if job.warned is None else job.warned.isoformat(),
    }


def _lacking(cloud: Cloud, job: Job[HostRequest], servers: Sequence[Server]) -> list[str]:
    """Return the servers that have no image of this warning, or only failed ones."""
    metadata = _metadata(job)
    there = cloud.images.of_reservation(job.name) if servers else ()
    have = {image.server_id for image in there if image.metadata == metadata and image.status != FAILED}
    return [server.id for server in servers if server.id not in have]


def _take(cloud: Cloud, job: Job[HostRequest], servers: Sequence[Server], server_id: str) -> None:
    """Start one image. A refusal is tried again as long as the warning stands: its server may be gone by then."""
    name = next(server.name for server in servers if server.id == server_id)
    try:
        cloud.images.snapshot(server_id, f"{job.settings.image_prefix}{name}", _metadata(job))
    except CloudPermanentError as error:
        raise CloudTransientError(str(error)) from error


def _take_late(cloud: Cloud, job: Job[HostRequest], servers: Sequence[Server]) -> frozenset[str]:
    """Start at the end what the warning could not, and return the servers of which the cloud makes none just now."""
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


def _without(cloud: Cloud, job: Job[HostRequest], servers: Sequence[Server]) -> list[str]:
    """Return the servers that have no complete image although one was begun or due."""
    if job.warned is not None:
        metadata = _metadata(job)
        there = [image for image in cloud.images.of_reservation(job.name) if image.metadata == metadata]
        complete = {image.server_id for image in there if image.status not in (FAILED, SAVING)}
        return [server.id for server in servers if server.id not in complete]
    saving = _saving(cloud.images.of_reservation(job.name))
    return [server.id for server in servers if server.id in saving]


def _saving(images: Iterable[Image]) -> frozenset[str]:
    return frozenset(image.server_id for image in images if image.status == SAVING)
