"""Availability, from 1.3 on: how much is free, and when a lease could be had (features G2 to G4, idea 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.api import dates, strict
from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once, check_giving_back, on_behalf
from leasehold.api.views.availability import show_askable, show_availability, show_search
from leasehold.leasing.availability import Question, availability_of
from leasehold.leasing.property import askable
from leasehold.leasing.requests import place_of
from leasehold.leasing.window_search import Wish, in_alternatives, search_windows
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.api.models.availability import OneAvailability, WindowSearch

QUERY: Final = ("resource_type", "from", "to", "resource_id")
"""The query keys besides those of the resource type."""
USUAL: Final = timedelta(days=7)
"""The length of the window if none is asked for."""


def show(call: Call) -> Reply:
    """Show how much is free at every second of a window: the total, what is held back, reserved and free.

    `resource_type` is `physical:host` if it is absent, `from` is now, as is any earlier date, and `to` a week later.
    The other query keys are those of a reservation of this type in POST /v1/leases, such as `resource_properties`,
    `vcpus` or `flavor_id`; how many are asked for has no effect, and conditions may be left out. What is free at a
    moment can be leased then. More may be granted where leases that have not started make room; the limits of the
    project do not count. `resource_id` asks about one resource, for callers who may list them.
    """
    return Reply(show_here(call))


def show_here(call: Call, also: Sequence[str] = ()) -> OneAvailability:
    """Return how much is free in this region; `also` names the query keys that say something else."""
    name = call.query("resource_type") or HOST
    kind = call.service.types.offered(name).kind
    strict.check_query(call.request.params, (*QUERY, *also, *kind.schema.model_fields))
    now = from_seconds(to_seconds(call.service.now()))
    asked_start, asked_end = (
        dates.parse_optional(call.query(key), version=call.version, now=now, field=key) for key in ("from", "to")
    )
    start = now if asked_start is None else asked_start
    end = start + USUAL if asked_end is None else asked_end
    sent = {key: call.query(key) for key in call.request.params if key not in (*QUERY, *also)}
    reservation = {"resource_type": name, **{key: value for key, value in sent.items() if value is not None}}
    question = Question(reservation, start, end, call.query_id("resource_id"))
    with asking_once(call) as service:
        found = availability_of(service, call.caller, question, call.sight)
    return {"availability": show_availability(found)}


def list_properties(call: Call) -> Reply:
    """Show by which properties leases can choose resources, each with the values that it has now.

    `resource_type` is `physical:host` if it is absent. What tells a single resource from the others is not shown, nor
    are private properties to callers who must not see them.
    """
    kind = call.service.types.offered(call.query("resource_type") or HOST).kind
    return Reply({"properties": [show_askable(each) for each in askable(call.service, call.caller, kind, call.sight)]})


def search(call: Call, body: WindowSearch) -> Reply:
    """Find the first windows in which a lease would be granted, earliest first.

    Of several `alternatives` one is enough; `refused` says why the others have no window. The limits of the project
    count; administrators may ask for another one (`project_id`). Nothing is promised: a lease that asks for such a
    window at once gets it, unless another request was faster.
    """
    if (body.reservations is None) == (body.alternatives is None):
        message = "Ask for either reservations or alternatives."
        raise InvalidInputError(message, field="reservations")
    sent = [body.reservations or []] if body.alternatives is None else body.alternatives
    for number, parts in enumerate(sent):
        for position, part in enumerate(parts):
            place = ("reservations", position) if body.alternatives is None else ("alternatives", number, position)
            strict.check_reservation(part, place, call.service.types.installed(part.resource_type), also=strict.KEYS)
    owner = on_behalf(call, body.project_id)
    wish = _wish(call, body, [[part.model_dump() for part in parts] for parts in sent])
    check_giving_back(call, call.caller, (part for parts in wish.alternatives for part in parts))
    path = in_alternatives if body.alternatives is not None else lambda _, position: place_of(position)
    with asking_once(call) as service:
        found = search_windows(service, owner, wish, call.sight, path)
    return Reply(show_search(found, wish.alternatives))


def _wish(call: Call, body: WindowSearch, alternatives: list[list[dict[str, Any]]]) -> Wish:
    now = call.service.now()

    def date(key: str) -> datetime | None:
        return dates.parse_optional(getattr(body, key), version=call.version, now=now, field=key)

    if body.shortest_seconds is not None and body.shortest_seconds > body.duration_seconds:
        message = "shortest_seconds must not be longer than duration_seconds."
        raise InvalidInputError(message, field="shortest_seconds")
    return Wish(
        alternatives=alternatives,
        duration=timedelta(seconds=body.duration_seconds),
        earliest=date("start_date") or now,
        latest=date("latest_start_date"),
        end=date("end_date"),
        shortest=None if body.shortest_seconds is None else timedelta(seconds=body.shortest_seconds),
        limit=body.limit,
    )
