"""The resource types, found by entry point; one that is switched on and fails to load stops the start-up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from stevedore import NamedExtensionManager

from leasehold.model.errors import InvalidInputError, MissingPluginError
from leasehold.model.use import Use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Driver
    from leasehold.resource_types.kind import Kind

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.resource_types"


class PluginError(Exception):
    """A resource type cannot be loaded, so the service refuses to start."""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """What an entry point provides when it is called: a kind, and the driver for its cloud."""

    kind: Kind[Any]
    driver: Driver[Any]

    @property
    def name(self) -> str:
        """The name that requests use, e.g. `physical:host`."""
        return self.kind.name


@dataclass(frozen=True, slots=True)
class ResourceTypes:
    """The resource types by name: those that are switched on, and those that leases of before still use.

    A type that is switched off is loaded when a lease needs it. What was looked for once, found or not, is kept: an
    operator who installs a plugin restarts the process.
    """

    by_name: Mapping[str, ResourceType]
    _retired: dict[str, ResourceType | str] = field(default_factory=dict, repr=False, compare=False)

    def offered(self, name: str) -> ResourceType:
        """Return a type for a new reservation; raises InvalidInputError that lists those switched on, if any."""
        found = self.by_name.get(name)
        if found is None:
            what = "switched off" if name in _installed() else "not supported"
            known = ", ".join(sorted(self.by_name))
            instead = f"use one of {known}" if known else "ask an operator to switch one on: none is"
            message = f"The resource type {name[:80]!r} is {what}; {instead}."
            raise InvalidInputError(message, field="resource_type")
        return found

    def get(self, name: str) -> ResourceType:
        """Return the type of a reservation that exists, switched on or not.

        Raises MissingPluginError when its plugin is not installed, or does not load.
        """
        found = self.by_name.get(name) or self._retired.get(name) or self._retired.setdefault(name, _retired(name))
        if isinstance(found, str):
            raise MissingPluginError(name, found)
        return found

    def find(self, name: str) -> ResourceType | None:
        """Return the type of a reservation that exists, or None when its plugin cannot be used."""
        try:
            return self.get(name)
        except MissingPluginError:
            return None

    def pools(self) -> frozenset[str]:
        """Return the pools that the types which are switched on book from."""
        return frozenset(each.kind.pool for each in self.by_name.values())

    @property
    def whole(self) -> Mapping[str, str]:
        """By pool, the amount of `Use` in which a whole resource counts 1."""
        kinds = [each.kind for each in self.by_name.values()]
        return {kind.pool: kind.whole for kind in kinds if kind.whole is not None}

    def amount(self, part: Reservation) -> int:
        """Return the most that a reservation may get, in the noun of its type; 0 where its plugin cannot be used."""
        found = self.find(part.resource_type)
        return 0 if found is None else found.kind.amount(found.kind.load(part.request))

    def use(self, part: Reservation) -> Use:
        """Return the most that a reservation may use; nothing where its plugin cannot be used."""
        found = self.find(part.resource_type)
        return Use() if found is None else found.kind.use(found.kind.load(part.request))

    def noun(self, resource_type: str) -> str:
        """Return what the amounts of a type count, for people; its name where its plugin cannot be used."""
        found = self.find(resource_type)
        return resource_type if found is None else found.kind.noun

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the type-specific fields of the v1 answer; none where the plugin cannot be used or breaks off."""
        found = self.find(reservation.resource_type)
        if found is None:
            return {}
        try:
            return found.kind.view(reservation)
        except Exception:
            # A list of leases holds those of all types.
            log.exception("A bug in %s: reservation %s could not be shown", reservation.resource_type, reservation.id)
            return {}

    def schemas(self) -> Mapping[str, type[BaseModel]]:
        """Return the request shape of every type that is switched on, for the OpenAPI document."""
        return {name: each.kind.schema for name, each in self.by_name.items()}


@cache
def _installed() -> frozenset[str]:
    """Return the types for which there is a plugin, loadable or not."""
    return frozenset(entry_points(group=NAMESPACE).names)


def _retired(name: str) -> ResourceType | str:
    """Load a type that is not switched on; returns what is wrong with its plugin where that cannot be used."""
    if name not in _installed():
        log.warning("The plugin of the resource type %s is not installed, and leases use it.", name)
        return "is not installed"
    try:
        return load_types([name]).by_name[name]
    except PluginError:
        log.exception("The plugin of the resource type %s, which leases use, cannot be loaded.", name)
        return "does not load"


def load_types(names: Iterable[str]) -> ResourceTypes:
    """Load the named types; raises PluginError when one is missing or broken."""
    wanted = list(names)

    def fail(_manager: object, entry_point: object, error: BaseException) -> None:
        message = (
            f"The resource type {entry_point} cannot be loaded: {error}. Mend or remove it from the list of plugins."
        )
        raise PluginError(message) from error

    def missing(absent: Iterable[str]) -> None:
        message = f"No plugin provides {', '.join(sorted(absent))}; install it or remove it from the list of plugins."
        raise PluginError(message)

    manager: NamedExtensionManager[ResourceType] = NamedExtensionManager(
        NAMESPACE,
        wanted,
        invoke_on_load=True,
        on_load_failure_callback=fail,
        on_missing_entrypoints_callback=missing,
    )
    return ResourceTypes({extension.name: extension.obj for extension in manager if extension.obj is not None})
