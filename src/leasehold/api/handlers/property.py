"""Properties of hosts (contract http-api §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.views.property import show_definition, show_property
from leasehold.leasing import queries
from leasehold.leasing.property import set_privacy
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.property import PrivacyChange


def list_properties(call: Call) -> Reply:
    """Show the properties that hosts have; any value of `all` shows administrators the private ones as well."""
    include_private = call.query("all") is not None and call.is_admin
    detail = call.query("detail") is not None
    found = queries.list_properties(call.service, HOST, include_private=include_private)
    return Reply({"resource_properties": [show_property(values, detail=detail) for values in found]})


def change(call: Call, name: str, body: PrivacyChange) -> Reply:
    """Hide a property from users' discovery, or show it again."""
    return Reply({"resource_property": show_definition(set_privacy(call.service, HOST, name, private=body.private))})
