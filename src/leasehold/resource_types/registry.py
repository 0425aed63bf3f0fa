"""Load the resource types by entry point; the service does not start if one that is switched on fails to load."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from stevedore import NamedExtensionManager

from leasehold.model.errors import InvalidInputError, MissingPluginError
from leasehold.model.use import Use
from leasehold.resource_types.capabilities import (
    Counting,
    Enrollable,
    GivingUp,
    Lending,
    Movable,
    Notified,
    Placed,
    Reporting,
    Resting,
    Surveyed,
    undeclared,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pydantic import BaseModel

    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Driver
    from leasehold.resource_types.fields import RequestBody
    from leasehold.resource_types.kind import Kind

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.resource_types"


class PluginError(Exception):
    """A resource type cannot be loaded, so the service refuses to start."""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """The result of calling an entry point: a kind and its driver."""

    kind: Kind[Any]
    driver: Driver[Any]

    def __post_init__(self) -> None:
        """Raise TypeError for a driver with methods of abilities that it does not derive from."""
        if lost := undeclared(self.driver):
            name = type(self.driver).__name__
            message = f"{name} has {', '.join(lost)}, from which it does not derive (resource_types/capabilities.py)"
            raise TypeError(message)

    @property
    def name(self) -> str:
        """The name that requests use, e.g. `physical:host`."""
        return self.kind.name


@dataclass(frozen=True, slots=True)
class ResourceTypes:
    """The resource types by name: those that are switched on, and retired ones that existing leases still use.

    A type that is switched off is loaded when a lease needs it. The result, found or not, is cached: an operator who
    installs a plugin has to restart the process.
    """

    by_name: Mapping[str, ResourceType]
    options: cfg.ConfigOpts = field(default_factory=cfg.ConfigOpts, repr=False, compare=False)
    _retired: dict[str, ResourceType | str] = field(default_factory=dict, repr=False, compare=False)

    def offered(self, name: str) -> ResourceType:
        """Return a type for a new reservation; raises InvalidInputError, which lists the types switched on, if any."""
        found = self.by_name.get(name)
        if found is None or not found.kind.leased:
            what = "switched off" if name in _installed() else "not supported"
            if name in _installed() and (there := self.find(name)) is not None and not there.kind.leased:
                what = "not leased: its resources are enrolled only so that their machines can sleep"
            known = ", ".join(sorted(each for each, type_ in self.by_name.items() if type_.kind.leased))
            instead = f"use one of {known}" if known else "no type is switched on: ask an operator"
            message = f"The resource type {name[:80]!r} is {what}; {instead}."
            raise InvalidInputError(message, field="resource_type")
        return found

    def get(self, name: str) -> ResourceType:
        """Return the type of an existing reservation, switched on or not.

        Raises MissingPluginError when its plugin is not installed, or does not load.
        """
        found = (
            self.by_name.get(name)
            or self._retired.get(name)
            or self._retired.setdefault(name, _retired(name, self.options))
        )
        if isinstance(found, str):
            raise MissingPluginError(name, found)
        return found

    def find(self, name: str) -> ResourceType | None:
        """Return the type of an existing reservation, or None if its plugin cannot be used."""
        try:
            return self.get(name)
        except MissingPluginError:
            return None

    def projects_of(self, lease: Lease, pool: str) -> list[str]:
        """Return the projects to which a resource of a pool has to be open, for the lease to get it."""
        found = (self.find(part.resource_type) for part in lease.kept) if lease.shared_with else ()
        used = any(each is not None and each.kind.pool == pool and each.kind.shared for each in found)
        return lease.projects if used else [lease.project_id]

    def installed(self, name: str) -> ResourceType | None:
        """Return a type that a client named, switched on or not; None if there is no such plugin, or it is broken."""
        return self.find(name) if name in self.by_name or name in _installed() else None

    def placed(self) -> Sequence[tuple[ResourceType, Placed]]:
        """Return the types whose resources have a place in the cloud, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Placed)]

    def movable(self) -> Sequence[tuple[ResourceType, Movable]]:
        """Return the types of which resources can be shared, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Movable)]

    def resting(self) -> Sequence[tuple[ResourceType, Resting]]:
        """Return the types whose resources can sleep, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Resting)]

    def lends(self, resource_type: str) -> bool:
        """Say whether reservations of a type can lend what they have; not if the plugin cannot be used."""
        found = self.find(resource_type)
        return found is not None and isinstance(found.driver, Lending)

    def lending_pools(self) -> frozenset[str]:
        """Return the pools of the types whose reservations can lend, switched on or not."""
        return frozenset(each.kind.pool for each in self._usable() if self.lends(each.name))

    def of_task(self, task: str) -> tuple[ResourceType, Placed] | None:
        """Return the type whose enrolled resources have tasks of this kind, and its driver; None: no type has."""
        return next(((each, driver) for each, driver in self.placed() if driver.task == task), None)

    def reporting(self) -> Sequence[tuple[ResourceType, Reporting]]:
        """Return the types whose resources report their health, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Reporting)]

    def counting(self) -> Sequence[tuple[ResourceType, Counting]]:
        """Return the types of which it can be counted what is used, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Counting)]

    def notified(self) -> Sequence[ResourceType]:
        """Return those of `reporting` whose driver names notifications that are a reason to ask it."""
        return [each for each in self._usable() if isinstance(each.driver, Notified)]

    def surveyed(self) -> Sequence[tuple[ResourceType, Surveyed]]:
        """Return the types of which is read again what resources have, and their drivers, switched on or not."""
        return [(each, each.driver) for each in self._usable() if isinstance(each.driver, Surveyed)]

    def _usable(self) -> Sequence[ResourceType]:
        """Return the types whose plugin can be used, switched on or not."""
        found = (self.find(name) for name in sorted({*self.by_name, *_installed()}))
        return [each for each in found if each is not None]

    def pools(self) -> frozenset[str]:
        """Return the pools of the types that can be used, switched on or not: resources of each can be enrolled."""
        return frozenset(each.kind.pool for each in self._usable())

    def using(self, pools: Collection[str]) -> frozenset[str]:
        """Return the types that use one of these pools, switched on or not."""
        return frozenset(each.name for each in self._usable() if each.kind.pool in pools)

    @property
    def whole(self) -> Mapping[str, str]:
        """The field of `Use` in which a whole resource counts 1, by pool; leases of a type switched off count too."""
        kinds = [each.kind for each in self._usable()]
        return {kind.pool: kind.whole for kind in kinds if kind.whole is not None}

    def amount(self, part: Reservation) -> int:
        """Return the most that a reservation may get, in the noun of its type; 0 if its plugin cannot be used."""
        found = self.find(part.resource_type)
        return 0 if found is None else found.kind.amount(found.kind.load(part.request))

    def use(self, part: Reservation) -> Use:
        """Return the most that a reservation may use; an empty `Use` if its plugin cannot be used."""
        found = self.find(part.resource_type)
        return Use() if found is None else found.kind.use(found.kind.load(part.request))

    def noun(self, resource_type: str) -> str:
        """Return the noun of a type's amounts for messages; the type's name if its plugin cannot be used."""
        found = self.find(resource_type)
        return resource_type if found is None else found.kind.noun

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the type-specific fields of the v1 answer; none if the plugin cannot be used or raises."""
        return self.view_of(reservation.resource_type)(reservation)

    def view_of(self, resource_type: str) -> Callable[[Reservation], dict[str, Any]]:
        """Return what `view` does for reservations of this type."""
        found = self.find(resource_type)
        if found is None:
            return lambda _: {}
        own_fields = found.kind.view

        def show(reservation: Reservation) -> dict[str, Any]:
            try:
                return own_fields(reservation)
            except Exception:
                # One broken type must not break the list of all leases.
                log.exception("A bug in %s: reservation %s could not be shown", resource_type, reservation.id)
                return {}

        return show

    def gives_up(self, reservation: Reservation) -> bool:
        """Say whether a reservation can release what it does not use; not if the plugin cannot be used."""
        found = self.find(reservation.resource_type)
        return found is not None and isinstance(found.driver, GivingUp)

    def schemas(self) -> Mapping[str, type[BaseModel]]:
        """Return the request shape of every type that is switched on and leased, for the OpenAPI document."""
        return {name: each.kind.schema for name, each in self.by_name.items() if each.kind.leased}

    def descriptions(self) -> Mapping[str, type[RequestBody]]:
        """Return what enrols a resource, for every type that is switched on and has resources of its own."""
        drivers = {name: each.driver for name, each in self.by_name.items()}
        return {name: each.description for name, each in drivers.items() if isinstance(each, Enrollable)}


@cache
def _installed() -> frozenset[str]:
    """Return the names of the types with an installed plugin, loadable or not."""
    return frozenset(entry_points(group=NAMESPACE).names)


def _retired(name: str, options: cfg.ConfigOpts) -> ResourceType | str:
    """Load a type that is not switched on, or return what is wrong with its plugin, as part of a sentence."""
    if name not in _installed():
        log.warning("The plugin of the resource type %s is not installed, but leases use it: install it again.", name)
        return "is not installed"
    try:
        return load_types([name], options).by_name[name]
    except PluginError:
        log.exception("The plugin of the resource type %s, which leases use, cannot be loaded.", name)
        return "does not load"


def load_types(names: Iterable[str], options: cfg.ConfigOpts | None = None) -> ResourceTypes:
    """Load the named types; raises PluginError when one is missing or broken.

    Each entry point is called with the options of the configuration, in which a plugin registers its own.
    """
    options = cfg.ConfigOpts() if options is None else options
    wanted = list(names)

    def fail(_manager: object, entry_point: object, error: BaseException) -> None:
        message = (
            f"The resource type {entry_point} cannot be loaded: {error}. Fix it, or remove it from the list of plugins."
        )
        raise PluginError(message) from error

    def missing(absent: Iterable[str]) -> None:
        message = f"No plugin provides {', '.join(sorted(absent))}; install it or remove it from the list of plugins."
        raise PluginError(message)

    manager: NamedExtensionManager[ResourceType] = NamedExtensionManager(
        NAMESPACE,
        wanted,
        invoke_on_load=True,
        invoke_args=(options,),
        on_load_failure_callback=fail,
        on_missing_entrypoints_callback=missing,
    )
    loaded = {extension.name: extension.obj for extension in manager if extension.obj is not None}
    return ResourceTypes(loaded, options)
