"""What an administrator could enrol: what the cloud has and no resource is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources
from leasehold.model.errors import CloudUnavailableError, InvalidInputError
from leasehold.resource_types.capabilities import Enrollable, Enumerable, Exclusive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.enrolment import Discovery
    from leasehold.resource_types.registry import ResourceType


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could be enrolled; `refused` says why it would be refused as things are."""

    found: Discovery
    refused: str | None


def candidates_of(service: Service, type_: ResourceType) -> list[Candidate]:
    """Return what could be enrolled as a type, by name.

    Raises InvalidInputError for a type of which nothing is enrolled, or whose driver lists nothing, and
    CloudUnavailableError.
    """
    driver = type_.driver
    if not isinstance(driver, Enumerable):
        message = f"Nothing is enrolled as {type_.name}; its reservations use resources of {type_.kind.resources}."
        if isinstance(driver, Enrollable):
            message = f"What the cloud has of {type_.kind.noun} is not listed. Enrol each by what identifies it."
        raise InvalidInputError(message, field="resource_type")
    with service.db.reading() as connection:
        enrolled = list_resources(connection, type_.name)
    try:
        found = driver.candidates(service.cloud, service.settings.cloud, {each.id for each in enrolled})
    except CloudError as error:
        message = f"The cloud cannot be asked for its {type_.kind.noun} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    refusals = _refusals(driver, found, enrolled) if isinstance(driver, Exclusive) else {}
    candidates = [Candidate(each, refusals.get(each.id)) for each in found]
    return sorted(candidates, key=lambda each: each.found.reference)


def _refusals(driver: Exclusive, found: Iterable[Discovery], enrolled: Iterable[Resource]) -> Mapping[str, str]:
    """Return by id why some would be refused: an enrolled resource has the attribute that only one may have."""
    holders = {each.attributes.get(driver.shared): each.reference for each in enrolled}
    others = ((each, holders.get(each.attributes.get(driver.shared))) for each in found)
    return {each.id: driver.shared_error(each, other).message for each, other in others if other is not None}
