"""Properties of hosts (contract http-api §6.2), and from 1.2 on of resources of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.dates import to_wire_or_none
from leasehold.api.handlers.resource import known
from leasehold.api.models.property import DefinitionAnswer
from leasehold.api.versions import FILTERS
from leasehold.api.views.shown import shown
from leasehold.leasing.reading import queries
from leasehold.leasing.resources.property import set_privacy
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.property import PrivacyChange, PropertyAnswer
    from leasehold.db.resources.property import PropertyValues


def list_properties(call: Call, resource_type: str = HOST) -> Reply:
    """Show the properties that resources have, with `all` to administrators the private ones as well.

    Before 1.3 any value of `all` and of `detail` is true, and from then on `true` is.
    """
    include_private = _asks(call, "all") and call.is_admin
    detail = _asks(call, "detail")
    found = queries.list_properties(
        call.service, known(call, resource_type).name, call.closed_to, include_private=include_private
    )
    return Reply({"resource_properties": [show_property(values, detail=detail) for values in found]})


def change(call: Call, name: str, body: PrivacyChange, resource_type: str = HOST) -> Reply:
    """Hide a property from users' discovery, or show it again."""
    definition = set_privacy(call.service, known(call, resource_type).name, name, private=body.private)
    # Here dates have another format (contract http-api §4).
    moments = {key: to_wire_or_none(getattr(definition, key)) for key in ("created_at", "updated_at")}
    return Reply({"resource_property": shown(DefinitionAnswer, definition, property_name=definition.name, **moments)})


def _asks(call: Call, key: str) -> bool:
    return bool(call.query_switch(key)) if call.version >= FILTERS else call.query(key) is not None


def show_property(values: PropertyValues, *, detail: bool) -> PropertyAnswer:
    """Return the name of a property, and with `detail` whether it is private and which values it has."""
    if not detail:
        return {"property": values.name}
    return {"property": values.name, "private": values.private, "values": list(values.values)}
