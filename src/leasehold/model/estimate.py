"""What features say about a window in which a lease would fit, such as what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one feature says: a JSON-ready `value` with its `name` for programs, and a `sentence` for people."""

    name: str
    value: Any
    sentence: str


def by_name(found: Iterable[Estimate]) -> dict[str, Any]:
    """Return the values by their names."""
    return {each.name: each.value for each in found}
