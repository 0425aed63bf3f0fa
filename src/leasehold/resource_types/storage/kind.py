"""The kind of `storage:host`, of which there are no reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import STORAGE
from leasehold.resource_types.fields import RequestBody
from leasehold.resource_types.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.resource_types.kind import Search


class StorageBody(RequestBody):
    """Nothing can be asked for."""


class StorageKind(Kind[StorageBody]):
    """Machines with services that keep volumes."""

    name = STORAGE
    pool = "storage"
    noun = "storage hosts"
    singular = "storage host"
    identifying = frozenset({"storage_host"})
    discovered: ClassVar[frozenset[str]] = frozenset({"availability_zone"})
    schema = StorageBody
    request_type = StorageBody
    leased = False
    healed = False

    def parse(self, raw: Mapping[str, Any]) -> NoReturn:  # noqa: ARG002 - refused whatever it is
        """Refuse."""
        raise InvalidInputError(f"Nothing can be reserved of {STORAGE}.", field="resource_type")

    def allocate(self, request: StorageBody, search: Search[StorageBody]) -> NoReturn:  # noqa: ARG002 - as `parse`
        """Refuse."""
        self.parse({})
