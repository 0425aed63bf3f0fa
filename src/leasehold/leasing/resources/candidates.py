"""What an administrator could enrol: what the cloud has and no resource is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources
from leasehold.model.errors import CloudUnavailableError, InvalidInputError

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
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
    if driver.description is None:
        message = f"Nothing is enrolled as {type_.name}; its reservations use resources of {type_.kind.resources}."
        raise InvalidInputError(message, field="resource_type")
    with service.db.reading() as connection:
        enrolled = list_resources(connection, type_.name)
    try:
        found = driver.candidates(service.cloud, service.settings.cloud, {each.id for each in enrolled})
    except CloudError as error:
        message = f"The cloud cannot be asked for its {type_.kind.noun} now: {error}. Try again later."
        raise CloudUnavailableError(message) from error
    if found is None:
        message = f"What the cloud has of {type_.kind.noun} is not listed. Enrol each by what identifies it."
        raise InvalidInputError(message, field="resource_type")
    holders = {each.attributes.get(driver.shared): each.reference for each in enrolled} if driver.shared else {}
    candidates = [Candidate(each, _refusal(type_, each, holders)) for each in found]
    return sorted(candidates, key=lambda each: each.found.reference)


def _refusal(type_: ResourceType, found: Discovery, holders: dict[object, str]) -> str | None:
    """Return why it would be refused: an enrolled resource has the attribute that only one may have."""
    other = holders.get(found.attributes.get(type_.driver.shared)) if type_.driver.shared else None
    return None if other is None else type_.driver.shared_error(found, other).message
