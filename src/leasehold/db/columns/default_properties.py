"""The default properties of reservations, as the database keeps them: NULL for those that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.model.terms.default_properties import DefaultProperties

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_default_properties(default: DefaultProperties | None) -> dict[str, Any] | None:
    """Return the JSON value."""
    return None if default is None else {"filter": default.filter, "applied": default.applied}


def read_default_properties(value: Mapping[str, Any] | None) -> DefaultProperties | None:
    """Return what `write_default_properties` wrote."""
    return None if value is None else DefaultProperties(value["filter"], value["applied"])
