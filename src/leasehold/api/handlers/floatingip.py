"""Floating IPs (contract http-api §7)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.views.floatingip import show_floating_ip, show_new_floating_ip
from leasehold.leasing import queries
from leasehold.leasing import resource as resources
from leasehold.leasing.enrol import enrol
from leasehold.model.resource import FLOATING_IP

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.floatingip import FloatingIpCreation


def list_floating_ips(call: Call) -> Reply:
    """Show all floating IPs."""
    show_one = partial(show_floating_ip, disabled=call.shows_disabled)
    return Reply(Listing("floatingips", map(show_one, queries.list_resources(call.service, FLOATING_IP))))


def show(call: Call, floatingip_id: str) -> Reply:
    """Show one floating IP."""
    found = queries.get_resource(call.service, FLOATING_IP, floatingip_id)
    return Reply({"floatingip": show_floating_ip(found, disabled=call.shows_disabled)})


def create(call: Call, body: FloatingIpCreation) -> Reply:
    """Enrol a floating IP."""
    where = {"floating_network_id": body.floating_network_id, "floating_ip_address": body.floating_ip_address}
    enrolled = enrol(call.service, FLOATING_IP, where)
    return Reply({"floatingip": show_new_floating_ip(enrolled, disabled=call.shows_disabled)})


def delete(call: Call, floatingip_id: str) -> Reply:
    """Remove a floating IP."""
    resources.remove(call.service, FLOATING_IP, floatingip_id)
    return Reply()
