"""Leases (contract http-api §5). The pipeline loads the lease of a path and checks the policies first."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from leasehold.api.before_end import ON_START, check_actions, check_before_end
from leasehold.api.call import Reply
from leasehold.api.handlers.lease_then import AS_OF, show_then
from leasehold.api.lease_filter import asked_part
from leasehold.api.limits.admission_control import MESSAGE
from leasehold.api.listing import Listing
from leasehold.api.once import IF_MATCH, amending_once, check_once, fingerprint, idempotency_key
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.purpose import new_purpose, purpose_of
from leasehold.api.sizes import check_sizes
from leasehold.api.spans import (
    OF_END,
    OF_START,
    asks_open_end,
    ending_as_sent,
    named_as_sent,
    parse_creation,
    parse_shift,
    sent_for,
)
from leasehold.api.strict import KEYS, check_reservations, later_keys
from leasehold.api.versions import ENDINGS, ETAGS, PAST, READY_WITHIN, SHRINKING, WARNINGS
from leasehold.api.views.holding import show_holdings
from leasehold.api.views.lease import lease_view, show_lease
from leasehold.cloud.asked_once import asked_once
from leasehold.cloud.ports import CloudTransientError
from leasehold.leasing.amend import amend_lease, try_amendment
from leasehold.leasing.callers_name import act_in_callers_name
from leasehold.leasing.create import create_lease, try_creation
from leasehold.leasing.delete import delete_seen
from leasehold.leasing.healing.heal_request import heal_on_request
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.holding import list_holdings
from leasehold.leasing.requests import place_of
from leasehold.leasing.swap import swap_resource
from leasehold.model.draft import LeaseChanges, LeaseDraft, SwapWish
from leasehold.model.errors import InvalidInputError, MissingParameterError, OverloadedError, StaleError
from leasehold.model.json_bytes import as_json
from leasehold.model.terms.ending import OnEnd
from leasehold.model.terms.heal_policy import chosen
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import OPEN_END
from leasehold.resource_types.slots.names import LONGEST_TENANTS, RESERVATION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from typing import Any

    from leasehold.api.call import Call
    from leasehold.api.lease_field import LeaseField
    from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseRequest, ReservationChange, SwapRequest
    from leasehold.api.policies.enforcer import Owned
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import EventFields, Lease
    from leasehold.resource_types.registry import ResourceType

About = TypeVar("About")
LONGEST_NUMBER = 20
NOTHING: Mapping[str, Any] = {}
ETAG = re.compile(r'"(\d{1,18})"', re.ASCII)


def list_leases(call: Call) -> Reply:
    """Show the leases of the caller's project, to administrators those of all; from 1.1 on in pages on request.

    From 1.3 on by `name`, `status` and time: `ends_after` and `starts_before` together give what lies in a window; and
    sorted, as by `sort=end_date:desc`. With `deleted` those that were deleted and are not purged.
    """
    project = None if call.is_admin else call.caller.project_id
    view = lease_view(call.service.types, call.version, call.sight)

    def show(lease: Lease, moments: Sequence[EventFields]) -> bytes:
        return as_json(view(lease, moments))

    texts = call.api.lease_texts.seen(call.version, call.sight)
    return Reply(Listing("leases", texts=queries.each_text(call.service, project, texts, show, **asked_part(call))))


def show(call: Call, lease: Lease) -> Reply:
    """Show one lease; from 1.3 on as it was at a moment (`as_of`), also one that was deleted since."""
    if call.version >= PAST and call.query(AS_OF) is not None:
        return show_then(call, lease)
    return _reply(call, lease, more=added_to(call, lease))


def added_to(call: Call, lease: Lease) -> Mapping[str, Any]:
    """Return what features add to the answer about a lease."""
    return _added(call, call.api.lease_fields, lease)


def added_to_all(call: Call, lease_ids: Collection[str]) -> Mapping[str, Any]:
    """Return what features add to the answer about leases that belong together."""
    return _added(call, call.api.together_fields, lease_ids)


def _added(call: Call, fields: Sequence[tuple[LeaseField, Callable[[About], Any]]], about: About) -> Mapping[str, Any]:
    found = {each.name: show(about) for each, show in fields if call.version >= each.since}
    return {name: value for name, value in found.items() if value is not None}


def create(call: Call, body: LeaseCreation) -> Reply:
    """Create a lease for the caller's project; the same `Idempotency-Key` again gives the same lease.

    Administrators may make it for another project (`project_id`). A `dry_run` answers what would happen, and does
    nothing.
    """
    if call.strict:
        types = call.service.types
        check_reservations(body.reservations, lambda each: types.installed(each.resource_type), call.version)
    draft, key = _draft(call, body), idempotency_key(call)
    check_giving_back(call, call.caller, draft.reservations)
    if draft.open_ended:
        call.api.policies.require(lease_rules.OPEN_ENDED, call.caller, call.caller)
    if draft.type is LeaseType.BEST_EFFORT:
        call.api.policies.require(lease_rules.BEST_EFFORT, call.caller, call.caller)
    owner = on_behalf(call, body.project_id)
    with asking_once(call) as service, named_as_sent(ending_as_sent(body)):
        if body.dry_run:
            return would_be(call, try_creation(service, owner, draft, call.sight))
        lease = _in_callers_name(call, service, create_lease(service, owner, draft, key, call.sight))
    return _reply(call, lease, _warnings(call, lease))


def on_behalf(call: Call, project_id: str | None) -> Caller:
    """Return who gets a lease that the caller asks for; raises ForbiddenError unless the caller may name a project."""
    if project_id in (None, call.caller.project_id):
        return call.caller
    call.api.policies.require(lease_rules.ON_BEHALF, call.caller, call.caller)
    return replace(call.caller, project_id=project_id)


def amend(call: Call, lease: Lease, body: LeaseAmendment) -> Reply:
    """Amend a lease: make all requested changes, or none; from 1.3 on once for each `Idempotency-Key`.

    A `dry_run` answers what would happen, and does nothing.
    """
    _check_maintenance(call, lease)
    once, generation = amending_once(call, body, lease), matched_generation(call)
    if call.strict:
        types, of_part = call.service.types, {part.id: part.resource_type for part in lease.reservations}
        check_reservations(
            body.reservations, lambda each: types.installed(of_part.get(each.id or "", "")), call.version
        )
    changes = _changes(call, body, lease)
    if changes.open_ended:
        call.api.policies.require(lease_rules.OPEN_ENDED, call.caller, lease)
    if changes.shared_with is not None:
        call.api.policies.require(lease_rules.SHARE, call.caller, lease)
    if not body.dry_run:
        check_once(changes, once, generation)
    giving = {part.id: part.request for part in lease.reservations if part.ending.gives_back}
    check_giving_more(call, lease, ((each, giving.get(each["id"])) for each in changes.reservations or ()))
    with asking_once(call) as service, named_as_sent(sent_for(body)):
        if body.dry_run:
            return would_be(call, try_amendment(service, lease.id, changes, generation, call.sight))
        amended = amend_lease(service, lease.id, changes, generation, call.sight, once, seen=lease)
        amended = _in_callers_name(call, service, amended)
    return _reply(call, amended, _warnings(call, amended))


def drop(call: Call, lease: Lease, reservation_id: str) -> Reply:
    """Drop one reservation of a lease, which keeps the others; its servers are deleted at once.

    This is an amendment: nothing waits for the servers to be gone.
    """
    _check_maintenance(call, lease)
    changes = LeaseChanges(drops=frozenset({reservation_id}))
    with asking_once(call) as service:
        amend_lease(service, lease.id, changes, matched_generation(call), call.sight, seen=lease)
    return Reply()


def vacate(call: Call, lease: Lease, reservation_id: str, resource_id: str) -> Reply:
    """Take one resource out of a reservation, if nothing uses it; the reservation then asks for so much less.

    A resource that it no longer has is a success. Only who may list hosts names one; everybody names addresses.
    """
    _check_maintenance(call, lease)
    part = next((each for each in lease.reservations if each.id == reservation_id), None)
    type_ = None if part is None else call.service.types.find(part.resource_type)
    if type_ is not None and not type_.kind.public:
        call.api.policies.require(host_rules.GET, call.caller, call.caller)
    changes = LeaseChanges(vacates=(reservation_id, resource_id))
    with asking_once(call) as service:
        amend_lease(service, lease.id, changes, matched_generation(call), call.sight, seen=lease)
    return Reply()


def check_giving_back(call: Call, owner: Owned, asked: Iterable[Mapping[str, Any]]) -> None:
    """Raise ForbiddenError if a reservation is to give its hosts back at its end, unless the caller may do so."""
    check_giving_more(call, owner, ((each, None) for each in asked))


def check_giving_more(
    call: Call, owner: Owned, asked: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
) -> None:
    """Raise ForbiddenError if more hosts are to be given back than before, unless the caller may ask for it.

    `asked` are reservations as they are sent, each with its present request if its hosts are to be given back already.
    """
    if any(_gives_more(sent, giving) for sent, giving in asked):
        call.api.policies.require(lease_rules.GIVE_BACK, call.caller, owner)


def _gives_more(sent: Mapping[str, Any], giving: Mapping[str, Any] | None) -> bool:
    if giving is None:
        return bool(sent.get("on_end") == OnEnd.GIVE_BACK)
    if sent.get("on_end") not in (None, OnEnd.GIVE_BACK):
        return False
    # A number may be sent as text. What is none, or too long for one, is refused when it is read.
    most = str(sent.get("max", ""))
    return most.isdecimal() and len(most) < LONGEST_NUMBER and int(most) > int(giving["max"])


def reply_in_callers_name(call: Call, service: Service, lease: Lease) -> Reply:
    """Answer with a lease that was just made, with its server groups."""
    return _reply(call, _in_callers_name(call, service, lease))


def _in_callers_name(call: Call, service: Service, lease: Lease) -> Lease:
    """Return the lease with its server groups. The lease is committed, so its answer needs no permit any more."""
    call.permit.needed = False
    return act_in_callers_name(service, lease, call.token, call.caller.project_id)


@contextmanager
def asking_once(call: Call) -> Iterator[Service]:
    """Yield the service for a request that may call the cloud: each look-up once, all calls within one deadline.

    The request releases its permit during each call, and while the external service is asked.
    """
    waiting = partial(call.api.cloud_waits.call, call.permit, call.caller.project_id)
    enforcement = replace(call.service.enforcement, around=partial(waiting_outside, waiting))
    with asked_once(call.service.cloud, call.api.settings.cloud_seconds, around=waiting) as cloud:
        yield replace(call.service, cloud=cloud, enforcement=enforcement)


@contextmanager
def waiting_outside(waiting: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Do what `waiting` does; raises OverloadedError (503) when too many requests wait already."""
    with ExitStack() as stack:
        try:
            stack.enter_context(waiting())
        except CloudTransientError:
            # It is counted as shed where it is raised.
            raise OverloadedError(MESSAGE) from None
        yield


def swap(call: Call, lease: Lease, body: SwapRequest) -> Reply:
    """Swap a host of a lease for another one that matches; `servers` names exactly the servers that are on it.

    They stay there until they are moved or deleted, or the lease ends. Only who may list hosts may name the `host`.
    """
    if (body.server is None) == (body.host is None):
        message = "Name the host to swap by one of the two: `server`, the id of a server on it, or `host`."
        raise InvalidInputError(message, field="server" if body.host is None else "host")
    if body.host is not None:
        call.api.policies.require(host_rules.GET, call.caller, call.caller)
    wish = SwapWish(body.server, body.host, frozenset(body.servers or ()))
    generation, all_servers, tells = _wanted_generation(call, lease), call.is_admin, call.sight.disabled
    with asking_once(call) as service:
        swapped = swap_resource(service, lease.id, wish, generation, all_servers=all_servers, tells_disabled=tells)
    return _reply(call, swapped)


def heal(call: Call, lease: Lease) -> Reply:
    """Replace what has failed in a lease, and give it what it misses, as far as others are free.

    This is the answer to an event `lease.heal_question`. It also does at once what the heal policy does later.
    """
    return _reply(call, heal_on_request(call.service, lease.id, _wanted_generation(call, lease)))


def delete(call: Call, lease: Lease) -> Reply:
    """Delete a lease. The deletion commits first; the wait for the servers to be gone is best effort.

    Under a single-threaded WSGI server there is no wait, because it would block all other requests.
    """
    _check_maintenance(call, lease)
    gone = delete_seen(call.service, lease, _wanted_generation(call, lease))
    if gone or not call.request.env["wsgi.multithread"]:
        return Reply()
    return Reply(wait=partial(call.api.delete_waits.wait, call.service, lease.id, call.caller.project_id))


def _check_maintenance(call: Call, lease: Lease) -> None:
    """Raise ForbiddenError if the lease is a maintenance window and the caller is not who may make or delete one."""
    if lease.is_maintenance:
        call.api.policies.require(lease_rules.CHANGE_MAINTENANCE, call.caller, call.caller)


def _reply(call: Call, lease: Lease, beside: Mapping[str, Any] = NOTHING, more: Mapping[str, Any] = NOTHING) -> Reply:
    """Return the answer about a lease, with `more` of it, and with what is `beside` it."""
    headers = {"ETag": f'"{lease.generation}"'} if call.version >= ETAGS else {}
    shown = {**show_lease(lease, call.service.types, call.version, call.sight), **more}
    return Reply({"lease": shown, **beside}, headers)


def _warnings(call: Call, lease: Lease) -> Mapping[str, Any]:
    """Return what an answer adds to a lease that its owner should know more of; nothing where there is nothing."""
    found = call.service.enforcement.warnings(lease, call.service.types) if call.version >= WARNINGS else ()
    shown = [{"code": each.code, "message": each.message, "details": each.details} for each in found]
    return {"warnings": shown} if shown else {}


def would_be(call: Call, lease: Lease) -> Reply:
    """Answer a dry run: the lease as it would be, and what it would have, as far as the caller may know that."""
    found = show_holdings(lease, list_holdings(call.service, lease, call.sight), call.version)
    lease_shown = show_lease(lease, call.service.types, call.version, call.sight)
    shown = {**lease_shown, **_added(call, call.api.tried_fields, lease)}
    return Reply({"lease": shown, "reservations": found, **_warnings(call, lease)}, status=HTTPStatus.OK)


def draft_of(call: Call, body: LeaseRequest, dates_of: tuple[datetime, datetime], now: datetime) -> LeaseDraft:
    """Return what leases and offers are both asked for with; `dates_of` are its start and its end, parsed at `now`."""
    start, end = dates_of
    return LeaseDraft(
        name=body.name,
        start=start,
        end=end,
        before_end=call.date(body.before_end_date, "before_end_date", now),
        reservations=tuple(
            known(call, each.model_dump(), call.service.types.installed(each.resource_type), place_of(position))
            for position, each in enumerate(body.reservations or ())
        ),
        events=tuple(
            (each.event_type, call.date(each.event_date, f"events[{position}].event_date", now))
            for position, each in enumerate(body.events or ())
            if each.event_type is not None
        ),
        fingerprint=fingerprint(body),
        heal_policy=chosen(body.heal_policy),
        reminders=tuple(body.reminder_seconds) if isinstance(body.reminder_seconds, list) else None,
        use_disabled=call.may_use_disabled(call.caller),
        purpose=purpose_of(call, body.purpose),
    )


def _draft(call: Call, body: LeaseCreation) -> LeaseDraft:
    """Return the requested lease, with how it waits."""
    now = call.service.now()
    return replace(
        draft_of(call, body, parse_creation(body, version=call.version, now=now), now),
        type=LeaseType(body.type or LeaseType.SCHEDULED),
        retries=body.retries,
        retry_pause=None if body.retry_seconds is None else timedelta(seconds=body.retry_seconds),
        deadline=call.date(body.deadline, "deadline", now),
        ready_within=timedelta(seconds=body.ready_within_seconds or 0) if call.version >= READY_WITHIN else None,
        open_ended=bool(body.open_ended),
    )


def _changes(call: Call, body: LeaseAmendment, lease: Lease) -> LeaseChanges:
    now, open_ended = call.service.now(), asks_open_end(body)
    return LeaseChanges(
        name=body.name,
        start=call.date(body.start_date, "start_date", now),
        end=OPEN_END if open_ended else call.date(body.end_date, "end_date", now),
        open_ended=open_ended,
        start_by=parse_shift(body, OF_START),
        end_by=parse_shift(body, OF_END),
        before_end=call.date(body.before_end_date, "before_end_date", now),
        reservations=None
        if body.reservations is None
        else tuple(_raw_change(call, lease, each, place_of(n)) for n, each in enumerate(body.reservations)),
        heal_policy=body.heal_policy,
        reminders=tuple(body.reminder_seconds) if isinstance(body.reminder_seconds, list) else body.reminder_seconds,
        shared_with=None if body.shared_with is None else _others(lease, body.shared_with),
        purpose=new_purpose(call, body.purpose),
        use_disabled=call.may_use_disabled(lease),
        shrinks=call.version >= SHRINKING,
    )


def _others(lease: Lease, projects: Sequence[str]) -> tuple[str, ...]:
    """Return these projects; raises InvalidInputError for the lease's own, and for a word that means something else."""
    for each in projects:
        if each in (lease.project_id, RESERVATION_KEY):
            message = f"{each!r} is no other project; leave it out of `shared_with`."
            raise InvalidInputError(message, field="shared_with")
    others = tuple(sorted(set(projects)))
    if len(",".join((lease.project_id, *others))) > LONGEST_TENANTS:
        message = f"Nova keeps the ids of all projects in {LONGEST_TENANTS} characters; share with fewer projects."
        raise InvalidInputError(message, field="shared_with")
    return others


def known(call: Call, reservation: Mapping[str, Any], type_: ResourceType | None, place: str) -> Mapping[str, Any]:
    """Return a sent reservation without the keys that its version of the API does not have.

    `type_` is the type whose own keys it has in every version; None for one that a use case refuses. Raises
    InvalidInputError for a value that its version does not have; `place` is its path in the request.
    """
    if type_ is None:
        return reservation
    newer = later_keys(type_, call.version)
    newer |= KEYS.difference(type_.kind.schema.model_fields) if call.version < ENDINGS else frozenset()
    check_actions(reservation, {ON_START, *newer}, place)
    if "before_end" not in newer:
        check_before_end(call.version, reservation, place)
    check_sizes(call.version, reservation, place)
    return {key: value for key, value in reservation.items() if key not in newer}


def _raw_change(call: Call, lease: Lease, change: ReservationChange, place: str) -> Mapping[str, Any]:
    """Return the change for its resource type; without a reservation id it raises the 400 of contract http-api §5.4."""
    if change.id is None:
        raise MissingParameterError("reservation ID")
    type_ = next((part.resource_type for part in lease.reservations if part.id == change.id), "")
    return known(call, change.model_dump(exclude_unset=True), call.service.types.installed(type_), place)


def _wanted_generation(call: Call, lease: Lease) -> int | None:
    """Return the generation that `If-Match` requires, from 1.1 on; raises StaleError (412) if the lease has another."""
    generation = matched_generation(call)
    if generation not in (None, lease.generation):
        raise StaleError
    return generation


def matched_generation(call: Call) -> int | None:
    """Return the generation that `If-Match` names, from 1.1 on; None: any."""
    header: str | None = call.request.get_header(IF_MATCH) if call.version >= ETAGS else None
    if header is None or header.strip() == "*":
        return None
    match = ETAG.fullmatch(header.strip())
    if match is None:
        raise InvalidInputError(f'{IF_MATCH} has to be the ETag of a lease, such as "3", or *.', field=IF_MATCH)
    return int(match[1])
