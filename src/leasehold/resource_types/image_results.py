"""What became of the images of a reservation's servers: one result for each server, kept with the reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import COMPLETE, FAILED, SAVING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Image, Server
    from leasehold.resource_types.driver import Job

IMAGE_RESULTS = "images"
"""The fact with the results: the time of the warning that they are of, and one result for each server."""
DONE, WAITING, NOT_DONE = "done", "waiting", "failed"
"""The statuses of a result. Until the end gives up, what has failed is tried again."""

NOT_STARTED = "The cloud did not start an image of this server."
NOT_UPLOADED = "The upload of the image failed."
NOT_HANDED_OVER = "The cloud did not make the image the project's own."
LATE = "The image was not complete in time."
"""The reasons. They name no hosts: owners read them, and the lease's `status_reason` says what the cloud answered."""

_ORDER = (FAILED, SAVING, COMPLETE)


def results_of(
    job: Job[Any], servers: Sequence[Server], images: Sequence[Image], *, over: bool = False
) -> Mapping[str, Any]:
    """Return the results of the warning as facts; none for a lease without a warning that is due and not done.

    `servers` are those of which images are due, and `images` those of the warning; what is complete was handed over, if
    the cloud did not refuse that. With `over` nothing is waited for any longer.
    """
    if job.warned is None:
        return {}
    warning = job.warned.isoformat()
    known = _done_before(job, warning)
    best = {each.server_id: each for each in sorted(images, key=lambda image: _ORDER.index(image.status))}
    names = {ident: image.name.removeprefix(job.settings.image_prefix) for ident, image in best.items()}
    names |= {server.id: server.name for server in servers}
    found = {**known, **{ident: _result(ident, name, best.get(ident), over=over) for ident, name in names.items()}}
    return {IMAGE_RESULTS: {"warning": warning, "results": [found[ident] for ident in sorted(found)]}}


def shown_results(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the results of the last warning, of the facts of a reservation; none if no images were asked for."""
    return list(facts.get(IMAGE_RESULTS, {}).get("results", ()))


def _done_before(job: Job[Any], warning: str) -> dict[str, Mapping[str, Any]]:
    """Return what was done for this warning: the owner may have used up the image since, and deleted the server."""
    before = job.reservation.cloud
    if before.get(IMAGE_RESULTS, {}).get("warning") != warning:
        return {}
    return {each["server_id"]: each for each in shown_results(before) if each["status"] == DONE}


def _result(server_id: str, name: str, image: Image | None, *, over: bool) -> Mapping[str, Any]:
    status, reason = _judged(image)
    if over and status == WAITING:
        status, reason = NOT_DONE, LATE
    ident = None if image is None else image.id
    return {"server_id": server_id, "server_name": name, "image_id": ident, "status": status, "reason": reason}


def _judged(image: Image | None) -> tuple[str, str | None]:
    """Return status and reason of the best image of a server."""
    if image is None:
        return NOT_DONE, NOT_STARTED
    if image.status == COMPLETE:
        return (DONE, None) if image.is_handed_over else (NOT_DONE, NOT_HANDED_OVER)
    return (WAITING, None) if image.status == SAVING else (NOT_DONE, NOT_UPLOADED)
