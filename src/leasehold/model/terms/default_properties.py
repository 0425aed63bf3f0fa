"""Default properties: what operators prefer for a reservation that names no properties (feature C9, decision 0081)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefaultProperties:
    """A property expression as JSON text, which a reservation keeps for all its decisions.

    `applied` says whether all that the last decision gave the reservation matches; None until it has got something.
    """

    filter: str
    applied: bool | None = None
