"""The resource types that are switched on, found by entry point; one that fails to load stops the start-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stevedore import NamedExtensionManager

from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.base import ResourceType

NAMESPACE = "leasehold.resource_types"


class PluginError(Exception):
    """A resource type cannot be loaded, so the service refuses to start."""


@dataclass(frozen=True, slots=True)
class ResourceTypes:
    """The resource types by name."""

    by_name: Mapping[str, ResourceType]

    def get(self, name: str) -> ResourceType:
        """Return the type; raises InvalidInputError that lists those that exist."""
        found = self.by_name.get(name)
        if found is None:
            message = f"The resource type {name[:80]!r} is not supported; use one of {', '.join(sorted(self.by_name))}."
            raise InvalidInputError(message, field="resource_type")
        return found

    def pools(self) -> frozenset[str]:
        """Return the pools that these types book from."""
        return frozenset(kind.pool for kind in self.by_name.values())

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the type-specific fields of the v1 answer; none for a type that is no longer switched on."""
        kind = self.by_name.get(reservation.resource_type)
        return {} if kind is None else kind.view(reservation)

    def schemas(self) -> Mapping[str, type[BaseModel]]:
        """Return the request shape of every type, for the OpenAPI document."""
        return {name: kind.schema for name, kind in self.by_name.items()}


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
