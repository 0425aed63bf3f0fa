"""The reservations that a request asks for or changes, read and bounded before anything is locked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.leasing.bounds import Conditions, check_texts
from leasehold.leasing.sight import check_names, hidden_names
from leasehold.model.errors import LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.properties import Expression
    from leasehold.resource_types.base import Request, ResourceType


@dataclass(frozen=True, slots=True)
class Read:
    """One reservation as its plugin understood it; `before` is what an amendment changes."""

    kind: ResourceType
    request: Request
    before: Request | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All reservations of a request, complete; `hidden` are private properties that the caller may not ask about."""

    parts: Sequence[Read]
    hidden: frozenset[str]


def place_of(position: int) -> str:
    """Return where a client's request speaks of a reservation, as errors name it."""
    return f"reservations[{position}]"


def read_requests(
    service: Service,
    owner: Caller,
    sight: Sight,
    raws: Sequence[Mapping[str, Any]],
    understand: Callable[[Mapping[str, Any]], Read],
) -> Reading:
    """Read each reservation with `understand`, and complete it; this may ask the cloud.

    Raises what a plugin says, and InvalidInputError for more than one request may contain, or for what the caller may
    not ask about. Every error names the reservation's place.
    """
    check_texts(raws)
    conditions = Conditions()
    parts = []
    for position, raw in enumerate(raws):
        try:
            read = understand(raw)
            conditions.add(read.request)
            check_names(sight, read.request, read.before)
            parts.append(Read(read.kind, read.kind.resolve(service.cloud, owner, read.request), read.before))
        except LeaseholdError as error:
            raise error.under(place_of(position)) from None
    return Reading(parts, hidden_names(service, sight, (part.request for part in parts)))


def conditions_of(parts: Iterable[tuple[ResourceType, Request]]) -> list[tuple[str, Expression]]:
    """Return what will be asked about the resources of each pool when these reservations are decided.

    A request that cannot be understood asks nothing: its decision says what is wrong, with its place.
    """
    found = []
    for kind, request in parts:
        try:
            found += [(kind.pool, condition) for condition in kind.conditions(request)]
        except LeaseholdError:
            continue
    return found
