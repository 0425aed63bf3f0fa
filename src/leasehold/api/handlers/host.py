"""Hosts (contract http-api §6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.models.host import KEY_FORM, LONGEST_KEY, LONGEST_VALUE, HostAnswer
from leasehold.api.views.host import show_host
from leasehold.leasing import queries
from leasehold.leasing.host import change_host, enrol_host, remove_host
from leasehold.model.errors import ForbiddenError, InvalidInputError
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Enrol a host; keys named like a discovered field are dropped, as v1 does."""
    reference = body.name if body.id is None else str(body.id)
    if not reference:
        message = "Name the host to enrol: `name` is its hypervisor's name in the cloud, `id` its hypervisor's id."
        raise ForbiddenError(message, field="name")
    own = {key: value for key, value in (body.model_extra or {}).items() if key not in DISCOVERED}
    return Reply({"host": show_host(enrol_host(call.service, reference, _properties(own)))})


def change(call: Call, host_id: str, body: HostChange) -> Reply:
    """Set properties of a host, all of them or none; null removes a property, as `blazar host-unset` requests."""
    wanted = body.model_extra or {}
    if not wanted:
        raise InvalidInputError('Name at least one property to set, such as {"rack": "r7"}.')
    masking = sorted(key for key in wanted if key in DISCOVERED or key == "name")
    if masking:
        message = f"{masking[0]!r} is a reserved key and cannot be set. Choose another name."
        raise InvalidInputError(message, field=masking[0])
    gone = dict.fromkeys(key for key, value in wanted.items() if value is None)
    kept = _properties({key: value for key, value in wanted.items() if key not in gone})
    return Reply({"host": show_host(change_host(call.service, host_id, {**gone, **kept}))})


def delete(call: Call, host_id: str) -> Reply:
    """Remove a host."""
    remove_host(call.service, host_id)
    return Reply()


def _properties(wanted: Mapping[str, Any]) -> dict[str, str]:
    for key in wanted:
        if len(key) > LONGEST_KEY:
            message = f"Extra capability key too long: {key[:LONGEST_KEY]}... has more than {LONGEST_KEY} characters."
            raise InvalidInputError(message, field=key[:LONGEST_KEY])
    return {_key(key): _text(key, value) for key, value in wanted.items()}


def _key(key: str) -> str:
    if not re.fullmatch(KEY_FORM, key):
        raise InvalidInputError(f"{key!r} cannot name a property. Use no control characters and no slash.", field=key)
    return key


def _text(key: str, value: object) -> str:
    """Return the value as it is stored: numbers and booleans are accepted, and become text."""
    if not isinstance(value, str | int | float):
        raise InvalidInputError(f"The value of property {key!r} has to be a string.", field=key)
    text = str(value)
    if len(text) > LONGEST_VALUE:
        raise InvalidInputError(f"The value of property {key!r} is longer than {LONGEST_VALUE} characters.", field=key)
    return text
