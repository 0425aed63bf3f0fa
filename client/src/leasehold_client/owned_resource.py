"""The resources that a project owns, and the leases that use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class OwnedUse(AnswerModel):
    """A lease, of whatever project, that uses a resource; its dates are aware and in UTC."""

    id: str
    project_id: str
    start: datetime
    end: datetime
    status: str


@dataclass(frozen=True, slots=True)
class OwnedResource(AnswerModel):
    """A resource of the project `owner`, and the leases that use it, the first to begin first."""

    id: str
    resource_type: str
    name: str
    owner: str
    leases: Sequence[OwnedUse]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> OwnedResource:
        return read_as(cls, values, leases=[OwnedUse.read(each) for each in values["leases"]])


class OwnedResources(OwnCollection[OwnedResource]):
    """The resources that the caller's project owns."""

    PATH, ONE, MANY, NOUN = "/owned-resources", "owned_resource", "owned_resources", "owned resource"
    THING = OwnedResource

    def end_lease(self, lease_id: str) -> None:
        """Delete a lease, of whatever project, that has resources of this project alone."""
        self._transport.delete(f"/owned-leases/{lease_id}")
