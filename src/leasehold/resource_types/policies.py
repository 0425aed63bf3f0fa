"""Policies that an operator chooses by name: a class without arguments, from an entry point of a package."""

from __future__ import annotations

from typing import Any

from stevedore import DriverManager
from stevedore.exception import NoMatches

from leasehold.resource_types.registry import PluginError


def load_policy(namespace: str, option: str, name: str) -> Any:
    """Return the policy of this name from the entry points of a group; `option` is what names it, for messages.

    Raises PluginError if no package has it, or it does not load.
    """
    try:
        return DriverManager(namespace, name, invoke_on_load=True).driver
    except NoMatches as error:
        message = f"{option} names {name!r}, which no installed package provides: {error}"
        raise PluginError(message) from error
