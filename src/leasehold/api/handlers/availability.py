"""Availability, from 1.3 on (features G2 to G4)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from leasehold.api import dates, strict
from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once
from leasehold.api.views.availability import show_availability
from leasehold.leasing.availability import Question, availability_of
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call

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
    sent = {key: call.query(key) for key in call.request.params}
    name = sent.pop("resource_type", None) or HOST
    kind = call.service.types.offered(name).kind
    strict.check_query(sent, (*QUERY, *kind.schema.model_fields))
    now = call.service.now()
    start, end = (
        dates.parse_optional(sent.pop(key, None), version=call.version, now=now, field=key) for key in ("from", "to")
    )
    start = start or now
    ident = call.query_id("resource_id")
    sent.pop("resource_id", None)
    reservation = {"resource_type": name, **{key: value for key, value in sent.items() if value is not None}}
    question = Question(reservation, start, end or start + USUAL, ident)
    with asking_once(call) as service:
        found = availability_of(service, call.caller, question, call.sight)
    return Reply({"availability": show_availability(found)})
