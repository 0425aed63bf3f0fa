"""Policies that an operator chooses by name: a class without arguments, from an entry point of a package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stevedore import DriverManager
from stevedore.exception import NoMatches

from leasehold.calendar.weighing import Weighers
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHERS = "leasehold.weighers"


def load_policy(namespace: str, option: str, name: str) -> Any:
    """Return the policy of this name from the entry points of a group; `option` is what names it, for messages.

    Raises PluginError if no package has it, or it does not load.
    """
    try:
        return DriverManager(namespace, name, invoke_on_load=True).driver
    except NoMatches as error:
        message = f"{option} names {name!r}, which no installed package provides: {error}"
        raise PluginError(message) from error


def load_weighers(general: str, by_type: Mapping[str, str]) -> Weighers:
    """Return the weighers of these names (feature C8); raises PluginError as `load_policy` does."""
    own = {type_: load_policy(WEIGHERS, "[manager] weigher_by_type", name) for type_, name in by_type.items()}
    return Weighers(load_policy(WEIGHERS, "[manager] weigher", general), own)
