"""Flexible leases, from 1.3 on (idea 7, decision 0144)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.api.before_end import check_before_end
from leasehold.api.call import Reply
from leasehold.api.dates import to_record, to_wire
from leasehold.api.handlers.lease import asking_once, check_giving_back
from leasehold.api.models.name import LONGEST_OF_SERIES
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.paging import ListKeys
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.purpose import purpose_of
from leasehold.api.route import CREATED, EVERY, GONE, V1_3, Noun
from leasehold.api.strict import check_reservations
from leasehold.api.views.lease import show_lease
from leasehold.features.flexible import use
from leasehold.features.flexible.bodies import (
    LONGEST,
    FlexibleAmendment,
    FlexibleAnswer,
    FlexibleCreation,
    FlexibleList,
    OneFlexible,
)
from leasehold.features.flexible.model import FlexibleDraft, Strategy, Terms
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.leasing.callers_name import act_in_callers_name
from leasehold.leasing.requests import place_of
from leasehold.model.errors import InvalidDateError, InvalidInputError
from leasehold.model.hours import EXAMPLE, Hours, read_zone
from leasehold.model.refused import Operation
from leasehold.model.terms.heal_policy import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.features.flexible.use import Placed
    from leasehold.leasing.service import Service

LISTED = ListKeys(sorts=("created_at", "earliest", "latest"))


def list_flexible(call: Call) -> Reply:
    """Show the flexible leases of the caller's project; an administrator may ask for those of `all_projects`."""
    found, now = use.list_flexible(call.service, call.listed_project(), LISTED.asked(call)), call.service.now()
    return Reply({"flexible_leases": [_shown(call, each, now) for each in found]})


def create(call: Call, body: FlexibleCreation) -> Reply:
    """Create a lease of so much time within a window, at the best place; the same `Idempotency-Key` gives the same one.

    It has its resources there like any lease. Until it is frozen it may be moved in its window, so that others fit or
    it gets a better place; an event `lease.rescheduled` tells of each move.
    """
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type), call.version)
    for position, each in enumerate(body.reservations or ()):
        check_before_end(call.version, each.model_dump(), place_of(position))
    settings, now = call.service.settings.of(FlexibleSettings), call.service.now()
    frozen = settings.frozen if body.frozen_seconds is None else timedelta(seconds=body.frozen_seconds)
    terms = Terms(
        earliest=call.date(body.earliest, "earliest", now) or now.replace(microsecond=0),
        latest=_date(call, body.latest, "latest", now),
        duration=timedelta(seconds=body.duration_seconds),
        frozen=frozen,
        strategy=Strategy(body.strategy),
        hours=_hours(settings, body.hours or ()),
        time_zone=body.time_zone,
    )
    draft = FlexibleDraft(
        name=body.name,
        terms=_checked(terms),
        piece=_piece(body),
        reservations=tuple(each.model_dump() for each in body.reservations or ()),
        heal_policy=chosen(body.heal_policy),
        reminders=tuple(body.reminder_seconds) if isinstance(body.reminder_seconds, list) else None,
        purpose=purpose_of(call, body.purpose),
        use_disabled=call.may_use_disabled(call.caller),
        fingerprint=fingerprint(body, "FLEXIBLE"),
    )
    check_giving_back(call, call.caller, draft.reservations)
    with asking_once(call) as service:
        return _reply(call, service, use.make_flexible(service, call.caller, draft, idempotency_key(call), call.sight))


def show(call: Call, placed: Placed) -> Reply:
    """Show one flexible lease, and where it is now."""
    return Reply({"flexible_lease": _shown(call, placed, call.service.now())})


def amend(call: Call, placed: Placed, body: FlexibleAmendment) -> Reply:
    """Change the terms of a flexible lease that has not started: it stays where it is if these still allow that."""
    settings, now, terms = call.service.settings.of(FlexibleSettings), call.service.now(), placed.flexible.terms
    duration, frozen = body.duration_seconds, body.frozen_seconds
    changed = replace(
        terms,
        earliest=call.date(body.earliest, "earliest", now) or terms.earliest,
        latest=call.date(body.latest, "latest", now) or terms.latest,
        duration=terms.duration if duration is None else timedelta(seconds=duration),
        frozen=terms.frozen if frozen is None else timedelta(seconds=frozen),
        strategy=Strategy(body.strategy or terms.strategy),
        hours=terms.hours if body.hours is None else _hours(settings, body.hours),
        time_zone=body.time_zone or terms.time_zone,
    )
    with asking_once(call) as service:
        return _reply(call, service, use.amend_flexible(service, placed.lease.id, _checked(changed), call.sight))


def fix(call: Call, placed: Placed) -> Reply:
    """Fix a flexible lease where it is: from now on it is a lease like any other, and is moved no more."""
    use.fix_flexible(call.service, placed.lease.id)
    return Reply()


def _date(call: Call, text: str, field: str, now: datetime) -> datetime:
    found = call.date(text, field, now)
    if found is None:
        message = "It needs a date: the latest end that the lease may have."
        raise InvalidDateError(message, field=field)
    return found


def _piece(body: FlexibleCreation) -> timedelta | None:
    """Return how long its pieces last at least; raises InvalidInputError."""
    if body.piece_seconds is None:
        return None
    for field, seconds in (("piece_seconds", body.piece_seconds), ("duration_seconds", body.duration_seconds)):
        if seconds % 60:
            message = "A lease is cut at whole minutes; give a multiple of 60."
            raise InvalidInputError(message, field=field)
    if body.piece_seconds > body.duration_seconds:
        message = "A piece cannot be longer than duration_seconds; give at most that, or leave it out."
        raise InvalidInputError(message, field="piece_seconds")
    if len(body.name) > LONGEST_OF_SERIES:
        message = f"The pieces have this name and their number; give at most {LONGEST_OF_SERIES} characters."
        raise InvalidInputError(message, field="name")
    return timedelta(seconds=body.piece_seconds)


def _hours(settings: FlexibleSettings, sent: Sequence[str]) -> tuple[str, ...]:
    """Return hours with what their words mean; raises InvalidInputError."""
    words = {"nights": settings.nights, "weekends": settings.weekends}
    found = tuple(words.get(each, each) for each in sent)
    for position, each in enumerate(found):
        try:
            Hours.read(each)
        except ValueError:
            message = f"{each!r} is no time; write nights, weekends, or hours like {EXAMPLE}."
            raise InvalidInputError(message, field=f"hours[{position}]") from None
    return found


def _checked(terms: Terms) -> Terms:
    """Return terms that can be searched; raises InvalidDateError and InvalidInputError."""
    read_zone(terms.time_zone)
    if terms.latest <= terms.earliest:
        message = "latest must be later than earliest."
        raise InvalidDateError(message, field="latest")
    if terms.latest - terms.earliest > timedelta(seconds=LONGEST):
        message = f"latest must be within {LONGEST // (24 * 3600)} days of earliest."
        raise InvalidDateError(message, field="latest")
    return terms


def _reply(call: Call, service: Service, placed: Placed) -> Reply:
    """Show what was made or changed. It is committed, so the answer needs no permit any more."""
    call.permit.needed = False
    for each in use.other_leases(service, placed):
        act_in_callers_name(service, each, call.token, call.caller.project_id)
    lease = act_in_callers_name(service, placed.lease, call.token, call.caller.project_id)
    return show(call, replace(placed, lease=lease))


def _shown(call: Call, placed: Placed, now: datetime) -> FlexibleAnswer:
    each, terms = placed.flexible, placed.flexible.terms
    return {
        "id": each.id,
        "state": placed.state(now).value,
        "earliest": to_wire(terms.earliest),
        "latest": to_wire(terms.latest),
        "duration_seconds": int(terms.duration.total_seconds()),
        "frozen_seconds": int(terms.frozen.total_seconds()),
        "strategy": terms.strategy.value,
        "hours": list(terms.hours),
        "time_zone": terms.time_zone,
        "frozen_at": to_wire(each.frozen_at),
        "moves": each.moves,
        "moved_at": to_record(each.moved_at),
        "pieces": [
            {
                "id": piece.id,
                "start_date": to_wire(piece.window.start),
                "end_date": to_wire(piece.window.end),
                "status": piece.status.value,
            }
            for piece in placed.pieces
        ],
        "lease": show_lease(placed.lease, call.service.types, call.version, call.sight),
    }


_ALL, _ONE = "/v1/flexible-leases", f"/v1/flexible-leases/{{{use.VARIABLE}}}"
_NOUN = Noun(use.VARIABLE, "placed", use.get_flexible)

GET = Rule(
    "leasehold:flexible_leases:get",
    READER_OR_ADMIN,
    "Show the flexible leases of a project; only administrators list those of all projects.",
)
POST = Rule(
    "leasehold:flexible_leases:post", MEMBER_OR_ADMIN, "Create a flexible lease; blazar:leases:post is needed too."
)
PUT = Rule(
    "leasehold:flexible_leases:put",
    MEMBER_OR_ADMIN,
    "Change the terms of a flexible lease, or fix it where it is; blazar:leases:put is needed too.",
)

ROUTES = (
    V1_3("GET", _ALL, list_flexible, (GET,), None, FlexibleList, query=EVERY, filters=LISTED.query),
    V1_3(
        "POST",
        _ALL,
        create,
        (POST, lease_rules.POST),
        FlexibleCreation,
        OneFlexible,
        CREATED,
        headers=("Idempotency-Key",),
        counts=Operation.CREATE,
        within=(lease_rules.GIVE_BACK,),
    ),
    V1_3("GET", _ONE, show, (GET,), None, OneFlexible, noun=_NOUN),
    V1_3("PUT", _ONE, amend, (GET, PUT, lease_rules.PUT), FlexibleAmendment, OneFlexible, noun=_NOUN),
    V1_3("DELETE", _ONE, fix, (GET, PUT, lease_rules.PUT), success=GONE, noun=_NOUN),
)
