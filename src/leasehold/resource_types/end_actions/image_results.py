"""What became of the images of a reservation's servers: one result for each server, kept with the reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import COMPLETE, FAILED, SAVING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.cloud.ports import Image, Server
    from leasehold.resource_types.driver import Convergence

IMAGE_RESULTS = "images"
"""The fact with the results: the time of the warning that they are of, and one result for each server."""
DONE, WAITING, NOT_DONE = "done", "waiting", "failed"
"""The statuses of a result. Until the end gives up, what has failed is tried again."""

COPIED = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDING", "SUSPENDED", "SHELVING"})
"""The statuses of servers of which Nova makes images, or will: it says so. An end does not wait for others."""

NOT_STARTED = "The cloud did not start an image of this server."
NOT_UPLOADED = "The upload of the image failed."
NOT_HANDED_OVER = "The cloud did not make the image the project's own."
LATE = "The image was not complete in time."
"""The reasons. They name no hosts: owners read them, and the lease's `status_reason` says what the cloud answered."""

_ORDER = (FAILED, SAVING, COMPLETE)


def results_of(
    job: Convergence[Any], servers: Sequence[Server], images: Sequence[Image], *, over: bool = False
) -> Mapping[str, Any]:
    """Return the results of the warning as facts; none for a lease without a warning that is due.

    `servers` are those of which images are due, and `images` those of the warning; what is complete was handed over, if
    the cloud did not refuse that. With `over` nothing is waited for any longer.
    """
    if job.warned is None:
        return {}
    best = {each.server_id: each for each in sorted(images, key=lambda image: _ORDER.index(image.status))}
    names = {ident: image.name.removeprefix(job.settings.image_prefix) for ident, image in best.items()}
    names |= {server.id: server.name for server in servers}
    states = {server.id: server.status for server in servers}
    found = {
        ident: _result(ident, name, best.get(ident), states.get(ident), over=over) for ident, name in names.items()
    }
    found |= done_before(job)
    return {IMAGE_RESULTS: {"warning": job.warned.isoformat(), "results": [found[ident] for ident in sorted(found)]}}


def shown_results(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the results of the last warning, of the facts of a reservation; none if no images were asked for."""
    return list(facts.get(IMAGE_RESULTS, {}).get("results", ()))


def done_before(job: Convergence[Any]) -> dict[str, Mapping[str, Any]]:
    """Return what was done for this warning, by server; since then the owner may have deleted image and server."""
    before = job.reservation.cloud
    if job.warned is None or before.get(IMAGE_RESULTS, {}).get("warning") != job.warned.isoformat():
        return {}
    return {each["server_id"]: each for each in shown_results(before) if each["status"] == DONE}


def _result(server_id: str, name: str, image: Image | None, state: str | None, *, over: bool) -> Mapping[str, Any]:
    status, reason = _judged(image, state)
    if over and status == WAITING:
        status, reason = NOT_DONE, LATE
    ident = None if image is None else image.id
    return {"server_id": server_id, "server_name": name, "image_id": ident, "status": status, "reason": reason}


def _judged(image: Image | None, state: str | None) -> tuple[str, str | None]:
    """Return status and reason of the best image of a server that is in this state, None if it is gone."""
    if image is None:
        copied = state is None or state in COPIED
        return NOT_DONE, NOT_STARTED if copied else f"The server was in {state}, in which the cloud makes no image."
    if image.status == COMPLETE:
        return (DONE, None) if image.is_handed_over else (NOT_DONE, NOT_HANDED_OVER)
    return (WAITING, None) if image.status == SAVING else (NOT_DONE, NOT_UPLOADED)
