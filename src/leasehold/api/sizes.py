"""Sizes with a unit in property expressions, such as `64G`, from 1.1 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.versions import SIZES
from leasehold.model.properties import has_units, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.versions import Version

_EXPRESSIONS = ("hypervisor_properties", "resource_properties")
"""The expressions that reservations have in the versions without sizes."""


def check_sizes(version: Version, reservation: Mapping[str, Any], place: str) -> None:
    """Raise MalformedExpressionError for a size that this version does not have; `place` is the reservation's path."""
    for field in _EXPRESSIONS if version < SIZES else ():
        text = reservation.get(field)
        if isinstance(text, str) and has_units(text):
            parse(text, f"{place}.{field}", sizes=False)
