"""Load the weighers that an operator chooses, by entry point (feature C8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.calendar.weighing import Weighers
from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMESPACE = "leasehold.weighers"


def load_weighers(general: str, by_type: Mapping[str, str]) -> Weighers:
    """Return the weighers of these names; raises PluginError if no package has one, or it does not load."""
    own = {type_: load_policy(NAMESPACE, "[manager] weigher_by_type", name) for type_, name in by_type.items()}
    return Weighers(load_policy(NAMESPACE, "[manager] weigher", general), own)
