"""Regions, from 1.3 on: which there are, and what is free in each of them (feature C3).

This service answers for its own region, and asks those of the others. A lease is asked for in its region.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pydantic import TypeAdapter

from leasehold.api.call import Reply
from leasehold.api.handlers.lease import waiting_outside
from leasehold.features.availability.bodies import OneAvailability, WindowList
from leasehold.features.availability.here import QUERY as OF_ONE
from leasehold.features.availability.here import search_here, show_here
from leasehold.features.availability.options import RegionSettings
from leasehold.features.availability.peers import PeerAnswer, PeerRequest, asking
from leasehold.model.errors import InvalidInputError, LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.api.call import Call
    from leasehold.features.availability.bodies import RegionSearch

ALL = "all"
REGION = "region"
QUERY = (REGION, *OF_ONE)
_AVAILABILITY, _WINDOWS = TypeAdapter(OneAvailability), TypeAdapter(WindowList)


def list_regions(call: Call) -> Reply:
    """List the regions whose services are known here, with their endpoints; that of this service comes first."""
    own = call.api.settings.region
    shown = [{"name": name, "endpoint": url, "here": name == own} for name, url in _endpoints(call).items()]
    return Reply({"regions": shown})


def show(call: Call) -> Reply:
    """Show how much is free in each region, as `GET /v1/availability` does for one.

    `region` names the regions, several by commas; all of them if it is absent. The service of each region is asked with
    the caller's token. One that does not answer in time, or refuses, has an `error_message` in place of the answer; the
    request is refused only if no region could be asked.
    """
    named = call.query(REGION)
    names = None if named in (None, ALL) else [each.strip() for each in (named or "").split(",")]
    query = urlencode({key: call.query(key) or "" for key in call.request.params if key != REGION})
    question = PeerRequest("GET", f"/availability?{query}", call.token)
    found = _ask(call, names, question, _AVAILABILITY, lambda: show_here(call, (REGION,)))
    return _listed(
        call, found, lambda each: {"availability": None if each.content is None else each.content["availability"]}
    )


def search(call: Call, body: RegionSearch) -> Reply:
    """Find the first windows of a lease in each region, as `POST /v1/availability/search` does for one.

    `regions` names the regions; all of them if it is absent. A `template` is one of this region. A lease is then asked
    for at the `endpoint` of its region.
    """
    sent = body.model_dump_json(exclude={"regions", "template"}, exclude_unset=True)
    question = PeerRequest("POST", "/availability/search", call.token, sent)
    found = _ask(call, body.regions, question, _WINDOWS, lambda: search_here(call, body))
    return _listed(call, found, lambda each: each.content or {"windows": [], "refused": []})


def _endpoints(call: Call) -> dict[str, str]:
    """Return the endpoint of each region, this one's first: the URL by which the caller came."""
    return {call.api.settings.region: f"{call.request.prefix}/v1", **call.service.settings.of(RegionSettings).peers}


def _ask(
    call: Call,
    names: Collection[str] | None,
    question: PeerRequest,
    expected: TypeAdapter[Any],
    answer_here: Callable[[], Any],
) -> dict[str, PeerAnswer]:
    """Return the answer of each of these regions; raises the error of this one if it is all that could be said."""
    own, settings = call.api.settings.region, call.service.settings.of(RegionSettings)
    known = [own, *settings.peers]
    _check_known(names, known, REGION if question.body is None else "regions")
    chosen = [name for name in known if names is None or name in names]
    found: dict[str, PeerAnswer] = {}
    refusal: LeaseholdError | None = None
    peers = {name: settings.peers[name] for name in chosen if name != own}
    with asking(peers, question, expected, seconds=settings.seconds, cafile=call.api.settings.cafile) as answers:
        if own in chosen:
            try:
                found[own] = PeerAnswer(answer_here())
            except LeaseholdError as error:
                refusal = error
                found[own] = PeerAnswer(error=error.message)
        waiting = partial(call.api.cloud_waits.call, call.permit, call.caller.project_id)
        # The request needs no permit while others answer.
        with waiting_outside(waiting) if peers else nullcontext():
            found |= {name: answer.result() for name, answer in answers.items()}
    if refusal is not None and all(each.content is None for each in found.values()):
        raise refusal
    return found


def _check_known(names: Collection[str] | None, known: Collection[str], field: str) -> None:
    unknown = [name for name in names or () if name not in known]
    if unknown:
        message = f"There is no region {unknown[0]!r}. There are: {', '.join(known)}."
        raise InvalidInputError(message, field=field)


def _listed(call: Call, found: dict[str, PeerAnswer], shown: Callable[[PeerAnswer], dict[str, Any]]) -> Reply:
    endpoints = _endpoints(call)
    return Reply(
        {
            "regions": [
                {"region": name, "endpoint": endpoints[name], **shown(each), "error_message": each.error}
                for name, each in found.items()
            ]
        }
    )
