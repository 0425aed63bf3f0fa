"""Properties as v1 shows them (contract http-api §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_wire_or_none

if TYPE_CHECKING:
    from leasehold.api.models.property import DefinitionAnswer, PropertyAnswer
    from leasehold.db.resources.property import PropertyDefinition, PropertyValues


def show_property(values: PropertyValues, *, detail: bool) -> PropertyAnswer:
    """Return the name of a property, and with `detail` whether it is private and which values it has."""
    if not detail:
        return {"property": values.name}
    return {"property": values.name, "private": values.private, "values": list(values.values)}


def show_definition(definition: PropertyDefinition) -> DefinitionAnswer:
    """Return the definition of the property, with dates in the format of PATCH (contract http-api §4)."""
    return {
        "id": definition.id,
        "resource_type": definition.resource_type,
        "property_name": definition.name,
        "private": definition.private,
        "created_at": to_wire_or_none(definition.created_at),
        "updated_at": to_wire_or_none(definition.updated_at),
    }
