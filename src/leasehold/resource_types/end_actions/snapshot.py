"""Images of a lease's servers before its end: every warning starts new ones, and the end waits for them.

The metadata of an image name its reservation and the time of the warning: a lease that is extended after its warning is
warned again, and gets new images of its servers. The contract defines the name of an image (lifecycle §2.4). An image
that is complete is handed over to the project of its server, because the service's own project makes it (decision
0063).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from leasehold.cloud.ports import (
    COMPLETE,
    FAILED,
    RESERVATION_OF_IMAGE,
    SAVING,
    CloudError,
    CloudPermanentError,
    CloudTransientError,
)
from leasehold.resource_types.driver import UNSAVED, LearnedError
from leasehold.resource_types.end_actions.action import Action
from leasehold.resource_types.end_actions.awaiting import NOTHING_AWAITED, Awaited, given_up
from leasehold.resource_types.end_actions.image_results import (
    COPIED,
    IMAGE_RESULTS,
    NOT_DONE,
    done_before,
    results_of,
    shown_results,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Image, Server
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.end_actions.awaiting import EndTurn


class ImageAnswer(TypedDict):
    """What became of the image of a server: `done`, `waiting` while it is uploaded, or `failed`, with a reason.

    Until the lease has ended, what has failed is tried again.
    """

    server_id: str
    server_name: str
    image_id: str | None
    status: str
    reason: str | None


log = logging.getLogger(__name__)

WARNING_OF_IMAGE = "leasehold_warning"
IMAGES = "images of its servers"
_NEVER = frozenset({"DELETING", "ERROR"})
"""The statuses of servers of which Nova makes no image."""


@dataclass(frozen=True, slots=True)
class _Handover:
    """The images of a reservation after all complete ones were handed over, and of which that was refused, with why."""

    images: Sequence[Image]
    refused: Mapping[str, str]

    def saving(self, servers: Sequence[Server]) -> frozenset[str]:
        """Return those of the servers of which an image is being uploaded."""
        return frozenset(each.server_id for each in self.images if each.status == SAVING) & _ids(servers)

    @property
    def stuck(self) -> frozenset[str]:
        """The servers whose images could not be handed over; they may be gone."""
        return frozenset(each.server_id for each in self.images if each.id in self.refused)

    def of_warning(self, job: Convergence[Any]) -> list[Image]:
        """Return the images of the warning."""
        metadata = _metadata(job)
        return [image for image in self.images if image.metadata == metadata]


def take_images(cloud: Cloud, job: Convergence[Any], there: Sequence[Server]) -> Mapping[str, Any]:
    """Start the missing images of the warning, hand complete ones over, and return their results as facts.

    Raises LearnedError, with these facts, until all are complete and handed over.
    """
    servers = [server for server in there if server.status not in _NEVER]
    reasons = _take_missing(cloud, job, servers)
    look = _hand_over(cloud, job)
    facts = results_of(job, servers, look.of_warning(job), over=False)
    saving = look.saving(servers)
    problems = [*reasons.values(), *look.refused.values(), *([_uploading(len(saving))] if saving else ())]
    if problems:
        raise LearnedError(problems[0], facts)
    return facts


def awaiting_images(cloud: Cloud, job: Convergence[Any], turn: EndTurn) -> Awaited:
    """Return which servers the end keeps because of their images; none when the wait is over.

    Images that the warning could not start are started now, as are those of servers that came after it, and complete
    ones are handed over. Raises LearnedError, once, with the number of missing images, before the end continues without
    them.
    """
    if IMAGES in job.reservation.cloud.get(UNSAVED, {}):
        return NOTHING_AWAITED
    late = [server for server in turn.servers if server.status in COPIED]
    asked = job.warned is not None and turn.until is not None
    reasons = _take_missing(cloud, job, late) if asked else {}
    look = _hand_over(cloud, job)
    due = [server for server in turn.servers if server.status != "DELETING"]
    uploading = look.saving(turn.servers) | reasons.keys()
    if turn.until is not None and (uploading or look.refused):
        what = _uploading(len(uploading)) if uploading else next(iter(look.refused.values()))
        return Awaited(uploading | look.stuck, f"{what}{turn.limit}", results_of(job, due, look.of_warning(job)))
    facts = results_of(job, due, look.of_warning(job), over=True)
    missing = _without(job, due, look, facts)
    if missing:
        log.warning("Reservation %s ends without images of the servers %s", job.name, ", ".join(missing))
    if missing and job.warned is not None:
        message = f"{len(missing)} images are not complete; the end goes on without them"
        raise LearnedError(message, {**facts, **given_up(job, IMAGES, len(missing))})
    return Awaited(facts=facts)


def _uploading(number: int) -> str:
    return f"{number} images of servers are still being uploaded"


def _ids(servers: Sequence[Server]) -> frozenset[str]:
    return frozenset(server.id for server in servers)


def _metadata(job: Convergence[Any]) -> dict[str, str]:
    return {RESERVATION_OF_IMAGE: job.name, WARNING_OF_IMAGE: "" if job.warned is None else job.warned.isoformat()}


def _take_missing(cloud: Cloud, job: Convergence[Any], servers: Sequence[Server]) -> dict[str, str]:
    """Start images of the servers without one of this warning, or with failed ones only; return refusals by server.

    A refusal is no reason to stop: the server may be gone at the next try. An image that was complete is not
    made again: its owner may have deleted it since.
    """
    metadata, reasons, done = _metadata(job), {}, done_before(job)
    missing = [server for server in servers if server.id not in done]
    there = cloud.images.of_reservation(job.name) if missing else ()
    have = {image.server_id for image in there if image.metadata == metadata and image.status != FAILED}
    for server in sorted(missing, key=lambda each: each.id):
        if server.id in have:
            continue
        try:
            cloud.images.snapshot(server.id, f"{job.settings.image_prefix}{server.name}", server.project_id, metadata)
        except (CloudPermanentError, CloudTransientError) as error:
            log.info("Reservation %s: no image of server %s yet: %s", job.name, server.id, error)
            reasons[server.id] = str(error)
    return reasons


def _hand_over(cloud: Cloud, job: Convergence[Any]) -> _Handover:
    """Make complete images of the reservation their projects' own; what a try before did not hand over is included."""
    images, refused = [], {}
    for image in cloud.images.of_reservation(job.name):
        now = image
        if image.status == COMPLETE and not image.is_handed_over:
            try:
                cloud.images.hand_over(image.id, image.meant_for)
                now = replace(image, project_id=image.meant_for)
            except CloudError as error:
                log.info("Reservation %s: image %s is not handed over yet: %s", job.name, image.id, error)
                refused[image.id] = str(error)
        images.append(now)
    return _Handover(images, refused)


def _without(job: Convergence[Any], servers: Sequence[Server], look: _Handover, facts: Mapping[str, Any]) -> list[str]:
    """Return the servers without a complete image of their project although one was started or due."""
    if job.warned is None:
        return sorted(look.saving(servers) | look.stuck)
    failed = {row["server_id"] for row in shown_results(facts) if row["status"] == NOT_DONE}
    return sorted((failed & _ids(servers)) | look.stuck)


ACTION = Action(
    awaiting_images,
    IMAGE_RESULTS,
    shown_results,
    ImageAnswer,
    "`snapshot`, an image of each server",
    warn=take_images,
)
