"""Read and bound the reservations that a request creates or changes, before any lock is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from leasehold.leasing.deciding.default_properties import condition_in
from leasehold.leasing.sight import check_names, hidden_names
from leasehold.model.errors import InvalidInputError, LeaseholdError
from leasehold.model.terms.ending import DELETED_AT_ONCE, Ending
from leasehold.model.terms.no_show import NEVER
from leasehold.resource_types.capabilities import GivingUp, Resolving, endings_of
from leasehold.resource_types.conditions import newly_named
from leasehold.resource_types.ending import read_ending
from leasehold.resource_types.no_show import read_no_show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import timedelta

    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceType


@dataclass(frozen=True, slots=True)
class Read:
    """One reservation as its plugin parsed it, and how it ends; `before` is the request that an amendment replaces.

    `no_show` is the time after which it releases what it does not use.
    """

    type: ResourceType
    request: Any
    before: Any = None
    ending: Ending = DELETED_AT_ONCE
    no_show: timedelta = NEVER

    @property
    def stored(self) -> dict[str, Any]:
        """The request as the database keeps it."""
        return self.type.kind.store(self.request)

    @property
    def new_names(self) -> Mapping[str, frozenset[str]]:
        """The names that its new property expressions mention, by field."""
        kind = self.type.kind
        return newly_named(kind.expressions(self.request), {} if self.before is None else kind.expressions(self.before))

    @property
    def all_names(self) -> frozenset[str]:
        """All names that its property expressions mention."""
        return frozenset().union(*newly_named(self.type.kind.expressions(self.request), {}).values())


@dataclass(frozen=True, slots=True)
class Reading:
    """All reservations of a request, resolved; `hidden` are the private properties that the caller may not use."""

    parts: Sequence[Read]
    hidden: frozenset[str]


def place_of(position: int) -> str:
    """Return the path of a reservation in the client's request, which errors use as a prefix."""
    return f"reservations[{position}]"


def read_requests(
    service: Service,
    owner: Caller,
    sight: Sight,
    raws: Sequence[Mapping[str, Any]],
    understand: Callable[[Mapping[str, Any]], Read],
    place: Callable[[int], str] = place_of,
    lease: Lease | None = None,
) -> Reading:
    """Parse each reservation with `understand` and resolve it; this may call the cloud.

    Raises the plugin's errors, and InvalidInputError when the request exceeds a bound or uses a name that the caller
    may not use. An error about one reservation names its path in the request, which `place` returns. `lease` is the one
    that is amended.
    """
    check_texts(raws, place)
    parts, conditions = [], 0
    for position, raw in enumerate(raws):
        try:
            said = raw
            for words in service.words:
                said = words(service, owner, said, lease)
            read = understand(said)
            conditions += read.type.kind.comparisons(read.request)
            check_conditions(conditions)
            check_names(sight, read.type.kind, read.new_names)
            driver = read.type.driver
            if isinstance(driver, Resolving):
                read = replace(read, request=driver.resolve(service.cloud, owner, read.request))
            parts.append(read)
        except LeaseholdError as error:
            raise error.under(place(position)) from None
    return Reading(parts, hidden_names(service, sight, [(part.type.kind, part.all_names) for part in parts]))


def ending_of(service: Service, type_: ResourceType, raw: Mapping[str, Any], before: Ending) -> Ending:
    """Return how a reservation of this type ends, by a request; raises the errors of `read_ending`.

    Keys that the type's own request has are not looked at.
    """
    can = endings_of(type_.driver)
    return read_ending(_shared(type_, raw), before, service.settings.leases, can=can, noun=type_.kind.noun)


def no_show_of(service: Service, type_: ResourceType, raw: Mapping[str, Any], before: timedelta) -> timedelta:
    """Return after which time a reservation of this type releases what it does not use, by a request.

    Raises the errors of `read_no_show`. Keys that the type's own request has are not looked at.
    """
    settings, gives_up = service.settings.leases, isinstance(type_.driver, GivingUp)
    return read_no_show(_shared(type_, raw), before, settings, gives_up=gives_up, noun=type_.kind.noun)


def _shared(type_: ResourceType, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in type_.kind.schema.model_fields}


def conditions_asked(asked: Sequence[Asked]) -> list[tuple[str, Expression]]:
    """Return the conditions that a decision about these reservations evaluates, as `conditions_of` does."""
    found = conditions_of((part.kind, part.request) for part in asked)
    return found + [(part.kind.pool, condition_in(part.default)) for part in asked if part.default is not None]


def conditions_of(parts: Iterable[tuple[Kind[Any], Any]]) -> list[tuple[str, Expression]]:
    """Return the conditions that the decision evaluates, each with its pool.

    An invalid request adds none: the decision raises its error, with the path of the reservation.
    """
    found = []
    for kind, request in parts:
        try:
            found += [(kind.pool, condition) for condition in kind.conditions(request)]
        except LeaseholdError:
            continue
    return found


MOST_CONDITIONS: Final = 1024
"""The most values in the property expressions of one request, plus addresses that it names."""
MOST_TEXT: Final = 64 * 1024
"""The most characters of all texts in the reservations of one request: mainly property expressions."""


def check_texts(reservations: Iterable[Mapping[str, Any]], place: Callable[[int], str]) -> None:
    """Raise InvalidInputError if the texts of a request, such as property expressions, are longer than MOST_TEXT.

    `place` returns the path of a reservation in the request.
    """
    length = 0
    for position, raw in enumerate(reservations):
        for field, text in raw.items():
            length += len(text) if isinstance(text, str) else 0
            if length > MOST_TEXT:
                message = (
                    f"The property expressions and other texts of the request have more than {MOST_TEXT} characters. "
                    "Ask for less, or for several leases."
                )
                raise InvalidInputError(message, field=field).under(place(position))


def check_conditions(count: int) -> None:
    """Raise InvalidInputError if the reservations of a request have more than MOST_CONDITIONS conditions together."""
    if count > MOST_CONDITIONS:
        message = (
            f"The request has more than {MOST_CONDITIONS} conditions: values in property expressions, and addresses "
            "that it names. Ask for less, or for several leases."
        )
        raise InvalidInputError(message)
