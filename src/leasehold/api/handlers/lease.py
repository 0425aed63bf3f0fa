"""Leases (contract http-api §5). The pipeline loads the lease of a path and checks the policies first."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.versions import ETAGS, PAGES
from leasehold.api.views.lease import show_lease
from leasehold.cloud.asked_once import asked_once
from leasehold.leasing import queries
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.callers_name import act_in_callers_name
from leasehold.leasing.create import create_lease
from leasehold.leasing.delete import delete_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import InvalidInputError, MissingParameterError, StaleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from leasehold.api.call import Call
    from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, ReservationChange
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

IDEMPOTENCY_KEY = "Idempotency-Key"
LONGEST_KEY = 255
IF_MATCH = "If-Match"
LONGEST_PAGE = 1_000
LIMIT = re.compile(r"[1-9]\d{0,3}", re.ASCII)
ETAG = re.compile(r'"(\d{1,18})"', re.ASCII)


def list_leases(call: Call) -> Reply:
    """Show the leases of the caller's project, to administrators those of all; from 1.1 on in pages on request."""
    project = None if call.is_admin else call.caller.project_id
    page = _page(call) if call.version >= PAGES else {}
    leases = queries.each_lease(call.service, project, **page)
    sight = call.sight
    return Reply(Listing("leases", (show_lease(each, call.service.types, call.version, sight) for each in leases)))


def show(call: Call, lease: Lease) -> Reply:
    """Show one lease."""
    return _reply(call, lease)


def create(call: Call, body: LeaseCreation) -> Reply:
    """Create a lease for the caller's project; the same `Idempotency-Key` again gives the same lease."""
    draft, key = _draft(call, body), _idempotency_key(call)
    with _asking_once(call) as service:
        lease = _in_callers_name(call, service, create_lease(service, call.caller, draft, key, call.sight))
    return _reply(call, lease)


def amend(call: Call, lease: Lease, body: LeaseAmendment) -> Reply:
    """Amend a lease: make all requested changes, or none."""
    generation = _wanted_generation(call, lease)
    changes = _changes(call, body)
    with _asking_once(call) as service:
        amended = _in_callers_name(call, service, amend_lease(service, lease.id, changes, generation, call.sight))
    return _reply(call, amended)


def _in_callers_name(call: Call, service: Service, lease: Lease) -> Lease:
    """Return the lease with its server groups. The lease is committed, so its answer needs no permit any more."""
    call.permit.needed = False
    return act_in_callers_name(service, lease, call.token, call.caller.project_id)


@contextmanager
def _asking_once(call: Call) -> Iterator[Service]:
    """Yield the service for a request that may call the cloud: each look-up once, all calls within one deadline.

    The request releases its permit during each call.
    """
    waiting = partial(call.api.cloud_waits.call, call.permit, call.caller.project_id)
    with asked_once(call.service.cloud, call.api.settings.cloud_seconds, around=waiting) as cloud:
        yield replace(call.service, cloud=cloud)


def delete(call: Call, lease: Lease) -> Reply:
    """Delete a lease. The deletion commits first; the wait for the servers to be gone is best effort.

    Under a single-threaded WSGI server there is no wait, because it would block all other requests.
    """
    delete_lease(call.service, lease.id, _wanted_generation(call, lease))
    if not call.request.env["wsgi.multithread"]:
        return Reply()
    return Reply(wait=partial(call.api.delete_waits.wait, call.service, lease.id, call.caller.project_id))


def _page(call: Call) -> dict[str, Any]:
    """Return the requested part of the list; raises InvalidInputError (400) for an invalid limit or marker."""
    text = call.query("limit")
    if text is not None and not (LIMIT.fullmatch(text) and int(text) <= LONGEST_PAGE):
        raise InvalidInputError(f"limit has to be a whole number from 1 to {LONGEST_PAGE}.", field="limit")
    return {"limit": None if text is None else int(text), "marker": call.query_id("marker")}


def _reply(call: Call, lease: Lease) -> Reply:
    headers = {"ETag": f'"{lease.generation}"'} if call.version >= ETAGS else {}
    return Reply({"lease": show_lease(lease, call.service.types, call.version, call.sight)}, headers)


def _draft(call: Call, body: LeaseCreation) -> LeaseDraft:
    """Return the requested lease, with parsed dates."""
    now = call.service.now()
    start = dates.parse(body.start_date, version=call.version, now=now, field="start_date")
    end = dates.parse(body.end_date, version=call.version, now=now, field="end_date")
    before_end = dates.parse_optional(body.before_end_date, version=call.version, now=now, field="before_end_date")
    return LeaseDraft(
        name=body.name,
        start=start,
        end=end,
        before_end=before_end,
        reservations=tuple(reservation.model_dump() for reservation in body.reservations or ()),
        events=tuple(event.event_type for event in body.events or () if event.event_type is not None),
        fingerprint=hashlib.sha256(body.model_dump_json().encode()).hexdigest(),
    )


def _changes(call: Call, body: LeaseAmendment) -> LeaseChanges:
    now = call.service.now()

    def moment(name: str, text: str | None) -> Any:
        return dates.parse_optional(text, version=call.version, now=now, field=name)

    return LeaseChanges(
        name=body.name,
        start=moment("start_date", body.start_date),
        end=moment("end_date", body.end_date),
        before_end=moment("before_end_date", body.before_end_date),
        reservations=None if body.reservations is None else tuple(map(_raw_change, body.reservations)),
    )


def _raw_change(change: ReservationChange) -> Mapping[str, Any]:
    """Return the change for its resource type; without a reservation id it raises the 400 of contract http-api §5.4."""
    if change.id is None:
        raise MissingParameterError("reservation ID")
    return change.model_dump(exclude_unset=True)


def _idempotency_key(call: Call) -> str | None:
    key: str | None = call.request.get_header(IDEMPOTENCY_KEY)
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"{IDEMPOTENCY_KEY} has to be 1 to {LONGEST_KEY} printable ASCII characters, such as a UUID."
        raise InvalidInputError(message, field=IDEMPOTENCY_KEY)
    return key


def _wanted_generation(call: Call, lease: Lease) -> int | None:
    """Return the generation that `If-Match` requires, from 1.1 on; raises StaleError (412) if the lease has another."""
    header: str | None = call.request.get_header(IF_MATCH) if call.version >= ETAGS else None
    if header is None or header.strip() == "*":
        return None
    match = ETAG.fullmatch(header.strip())
    if match is None:
        raise InvalidInputError(f'{IF_MATCH} has to be the ETag of a lease, such as "3", or *.', field=IF_MATCH)
    if int(match[1]) != lease.generation:
        raise StaleError
    return lease.generation
