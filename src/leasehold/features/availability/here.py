"""Availability in this region: what its callers ask for, and what they are shown."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.api import dates, strict
from leasehold.api.handlers.lease import asking_once, check_giving_back, on_behalf
from leasehold.api.spans import USUAL
from leasehold.features.availability.search import Wish, in_alternatives, search_windows
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.leasing.requests import place_of
from leasehold.model.errors import InvalidInputError
from leasehold.model.estimate import by_name
from leasehold.model.resource import HOST
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.api.call import Call
    from leasehold.features.availability.bodies import (
        AvailabilityAnswer,
        FoundWindow,
        OneAvailability,
        WindowList,
        WindowSearch,
    )
    from leasehold.features.availability.search import PossibleWindow, SearchResult
    from leasehold.features.availability.use import Availability

QUERY: Final = ("resource_type", "from", "to", "resource_id")
"""The query keys besides those of the resource type."""


def show_here(call: Call, also: Sequence[str] = ()) -> OneAvailability:
    """Return how much is free in this region; `also` names the query keys that say something else."""
    name = call.query("resource_type") or HOST
    kind = call.service.types.offered(name).kind
    strict.check_query(call.request.params, (*QUERY, *also, *kind.schema.model_fields))
    now = from_seconds(to_seconds(call.service.now()))
    start = call.query_date("from", now) or now
    end = call.query_date("to", now) or start + USUAL
    sent = {key: call.query(key) for key in call.request.params if key not in (*QUERY, *also)}
    reservation = {"resource_type": name, **{key: value for key, value in sent.items() if value is not None}}
    question = AvailabilityQuestion(reservation, start, end, call.query_id("resource_id"))
    with asking_once(call) as service:
        found = availability_of(service, call.caller, question, call.sight)
    return {"availability": show_availability(found)}


def search_here(call: Call, body: WindowSearch) -> WindowList:
    """Return the first windows of a lease in this region; raises InvalidInputError and what `search_windows` does."""
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
    return show_search(found, wish.alternatives)


def _wish(call: Call, body: WindowSearch, alternatives: list[list[dict[str, Any]]]) -> Wish:
    now = call.service.now()
    if body.shortest_seconds is not None and body.shortest_seconds > body.duration_seconds:
        message = "shortest_seconds must not be longer than duration_seconds."
        raise InvalidInputError(message, field="shortest_seconds")
    return Wish(
        alternatives=alternatives,
        duration=timedelta(seconds=body.duration_seconds),
        earliest=call.date(body.start_date, "start_date", now) or now,
        latest=call.date(body.latest_start_date, "latest_start_date", now),
        end=call.date(body.end_date, "end_date", now),
        shortest=None if body.shortest_seconds is None else timedelta(seconds=body.shortest_seconds),
        limit=body.limit,
    )


def show_availability(found: Availability) -> AvailabilityAnswer:
    """Return availability; times are in ISO 8601 with the zone, to the second."""
    return {
        "resource_type": found.resource_type,
        "unit": found.noun,
        "from": found.window.start.isoformat(),
        "to": found.window.end.isoformat(),
        "total": found.total,
        "held_back": found.held_back,
        "throughout": found.throughout,
        "steps": {
            "from": dates.show_moments(found.moments),
            "free": list(found.free),
            "reserved": list(found.reserved),
        },
    }


def show_search(found: SearchResult, alternatives: Sequence[Sequence[Mapping[str, Any]]]) -> WindowList:
    """Return the windows of a search, and why the other alternatives have none; `alternatives` is what was asked."""
    return {
        "windows": [_show_window(each, alternatives[each.alternative]) for each in found.windows],
        "refused": [
            {"alternative": number, "error_message": error.message, "code": error.code, "details": error.details}
            for number, error in sorted(found.refused.items())
        ],
    }


def _show_window(found: PossibleWindow, asked: Sequence[Mapping[str, Any]]) -> FoundWindow:
    answer: FoundWindow = {
        "alternative": found.alternative,
        "start_date": found.window.start.isoformat(),
        "end_date": found.window.end.isoformat(),
        "reservations": [
            {"resource_type": part["resource_type"], "amount": amount}
            for part, amount in zip(asked, found.amounts, strict=True)
        ],
    }
    if found.estimates:
        answer["estimates"] = by_name(found.estimates)
    return answer
