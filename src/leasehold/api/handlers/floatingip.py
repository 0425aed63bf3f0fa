"""Floating IPs (contract http-api §7)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.dates import to_record, to_wire_or_none
from leasehold.api.handlers.resource import RESTRICTION_KEYS, asked_restriction
from leasehold.api.listing import Listing
from leasehold.api.models.floatingip import FloatingIpAnswer
from leasehold.api.models.resource import DisabledAnswer, RestrictedAnswer
from leasehold.api.paging import ListKeys
from leasehold.api.views.shown import shown
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource as resources
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.errors import NotFoundError
from leasehold.model.resource import FLOATING_IP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.api.models.floatingip import FloatingIpCreation
    from leasehold.model.resource import Resource

LISTED = ListKeys(
    texts=("floating_ip_address", "floating_network_id", "subnet_id"),
    switches=("reservable", "disabled"),
    sorts=("created_at", "floating_ip_address", "updated_at"),
)


def list_floating_ips(call: Call) -> Reply:
    """Show all floating IPs; from 1.3 on in pages, by address, network and flags, and sorted."""
    show_one = partial(show_floating_ip, disabled=call.shows_disabled, projects=call.shows_projects)
    part = LISTED.asked(call)
    # Who does not see the flag learns nothing by asking for it.
    asks_hidden = "disabled" in part.wanted and not call.shows_disabled
    found = queries.list_resources(call.service, FLOATING_IP, part, closed_to=call.closed_to) if not asks_hidden else ()
    return Reply(Listing("floatingips", (show_one(each) for each in found if _seen(call, each))))


def _seen(call: Call, address: Resource) -> bool:
    """Say whether the caller may know of an address: it is not for other projects, or they may list hosts."""
    return address.projects is None or call.closed_to is None or address.open_to(call.closed_to)


def show(call: Call, floatingip_id: str) -> Reply:
    """Show one floating IP."""
    found = queries.get_resource(call.service, FLOATING_IP, floatingip_id)
    if not _seen(call, found):
        raise NotFoundError(call.service.types.get(FLOATING_IP).kind.id_name, floatingip_id)
    return Reply({"floatingip": show_floating_ip(found, disabled=call.shows_disabled, projects=call.shows_projects)})


def create(call: Call, body: FloatingIpCreation) -> Reply:
    """Enrol a floating IP; from 1.3 on `projects` are those that alone may use it, and `owner` is whose it is."""
    where = {"floating_network_id": body.floating_network_id, "floating_ip_address": body.floating_ip_address}
    restriction = asked_restriction(call, body.model_dump(include=set(RESTRICTION_KEYS), exclude_unset=True))
    enrolled = enrol(call.service, FLOATING_IP, where, restriction=restriction)
    made = show_floating_ip(enrolled, disabled=call.shows_disabled, projects=call.shows_projects, write=to_wire_or_none)
    return Reply({"floatingip": made})


def delete(call: Call, floatingip_id: str) -> Reply:
    """Remove a floating IP."""
    resources.remove(call.service, FLOATING_IP, floatingip_id)
    return Reply()


def show_floating_ip(
    address: Resource, *, disabled: bool, projects: bool, write: Callable[[datetime | None], str | None] = to_record
) -> FloatingIpAnswer:
    """Return the floating IP; `disabled` says that the caller sees that, `projects` which projects may use it.

    Its dates are in the format of records, but another one in the answer to POST (contract http-api §4).
    """
    flag: Mapping[str, object] = shown(DisabledAnswer, address) if disabled else {}
    restriction: Mapping[str, object] = shown(RestrictedAnswer, address) if projects else {}
    return shown(
        FloatingIpAnswer,
        address,
        **{key: address.attributes[key] for key in ("floating_network_id", "subnet_id", "floating_ip_address")},
        created_at=write(address.created_at),
        updated_at=write(address.updated_at),
        **flag,
        **restriction,
    )
