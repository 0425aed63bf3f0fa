"""Hosts (contract http-api §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.models.host import HostAnswer
from leasehold.api.models.property import check_reserved, checked_changes, checked_properties
from leasehold.api.views.host import show_host
from leasehold.leasing import queries
from leasehold.leasing import resource as resources
from leasehold.leasing.enrol import enrol
from leasehold.model.errors import ForbiddenError
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.host import HostChange, HostCreation

DISCOVERED = frozenset(HostAnswer.__annotations__)
"""The keys of an answer that are not properties; no property may have one of these names."""


def list_hosts(call: Call) -> Reply:
    """Show all hosts."""
    return Reply(Listing("hosts", map(show_host, queries.list_resources(call.service, HOST))))


def show(call: Call, host_id: str) -> Reply:
    """Show one host."""
    return Reply({"host": show_host(queries.get_resource(call.service, HOST, host_id))})


def create(call: Call, body: HostCreation) -> Reply:
    """Enrol a host; keys named like a discovered field are dropped, as v1 does, and refused from 1.2 on."""
    reference = body.name if body.id is None else str(body.id)
    if not reference:
        message = "Name the host to enrol: `name` is its hypervisor's name in the cloud, `id` its hypervisor's id."
        raise ForbiddenError(message, field="name")
    own = {key: value for key, value in (body.model_extra or {}).items() if call.strict or key not in DISCOVERED}
    check_reserved(own, DISCOVERED)
    enrolled = enrol(call.service, HOST, {"name": reference}, checked_properties(own))
    return Reply({"host": show_host(enrolled)})


def change(call: Call, host_id: str, body: HostChange) -> Reply:
    """Set properties of a host, all of them or none; null removes a property, as `blazar host-unset` requests."""
    wanted = checked_changes(body.model_extra or {}, reserved=DISCOVERED | {"name"})
    return Reply({"host": show_host(resources.change(call.service, HOST, host_id, wanted))})


def delete(call: Call, host_id: str) -> Reply:
    """Remove a host."""
    resources.remove(call.service, HOST, host_id)
    return Reply()
