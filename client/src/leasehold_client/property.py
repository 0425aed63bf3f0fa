"""Properties of resources, by which leases choose them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import under

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@dataclass(frozen=True, slots=True)
class Property:
    """A property that some resource has; without its details `private` is None and `values` is empty."""

    name: str
    private: bool | None
    values: tuple[str, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Property:
        return cls(values["property"], values.get("private"), tuple(values.get("values") or ()))


class Properties(Calls):
    """The properties of all resources of a type; None is the hosts."""

    def list(self, resource_type: str | None = None, *, detail: bool = False, private: bool = False) -> list[Property]:
        """Return the public properties, and with `private` all; `detail` adds the values that occur."""
        asked = {"detail": detail, "all": private}
        query = {key: "true" for key, wanted in asked.items() if wanted}
        answer = self._transport.get(f"{under(resource_type)}/properties", query)
        return [Property.read(each) for each in answer["resource_properties"]]

    def set_private(self, name: str, resource_type: str | None = None, *, private: bool) -> None:
        """Say whether only administrators see a property."""
        self._transport.patch(f"{under(resource_type)}/properties/{name}", {"private": private})
