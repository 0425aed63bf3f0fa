"""The rows of the timeline: which resources a caller sees, and as what (decisions 0018, 0049, 0077 and 0095)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.features.timeline.model import RowType, TimelineRow, state_of
from leasehold.leasing.sight import ALWAYS_IDENTIFYING, check_names
from leasehold.model.errors import InvalidInputError
from leasehold.model.properties import ANYTHING, as_text, matches, names, parse
from leasehold.resource_types.conditions import check_orderings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.features.timeline.model import ShownLease
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.properties import Expression
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind

FILTER = "resource_properties"
"""The query key with the expression that rows have to match."""
_WORD = 12
"""The hexadecimal digits of the id of an anonymous row: two of a million rows are alike once in 500 estates."""


@dataclass(frozen=True, slots=True)
class Eyes:
    """What a caller may see: of resources by `sight`; `everything` is for operators, who see whose each bar is."""

    caller: Caller
    sight: Sight
    everything: bool

    def identifies(self, kind: Kind[Any]) -> bool:
        """Say whether the caller may know which of these resources is which."""
        return self.everything or self.sight.hosts or kind.public

    def lists(self) -> bool:
        """Say whether the caller sees every row: shared ones, and those for other projects."""
        return self.everything or self.sight.hosts

    def sees(self, resource: Resource) -> bool:
        """Say whether the caller sees a row because of what the resource is."""
        return self.lists() or (resource.pooled and resource.open_to(self.caller.project_id))

    def whose(self, lease: ShownLease) -> str:
        """Say whose a lease is to the caller: mine, project or other."""
        if lease.project_id != self.caller.project_id:
            return "other"
        return "mine" if lease.user_id == self.caller.user_id else "project"

    @property
    def marks(self) -> tuple[str, ...]:
        """What the answers of callers differ by."""
        shown = (self.everything, self.sight.hosts, self.sight.private, self.sight.disabled)
        return self.caller.project_id, self.caller.user_id, *map(str, shown)


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows as one caller may see them; `private` are names of properties, each after its type."""

    eyes: Eyes
    kinds: Sequence[Kind[Any]]
    types: Sequence[RowType]
    private: Collection[tuple[str, str]]
    key: bytes

    def row(self, resource: Resource) -> TimelineRow:
        """Return a resource as a row."""
        position = next(place for place, each in enumerate(self.types) if each.name == resource.type)
        kind, identified = self.kinds[position], self.types[position].identified
        reason = resource.disabled_reason or resource.membership_reason
        # A resource that was enrolled again has the id of the removed one.
        ident = resource.id if resource.deleted_at is None else f"removed-{resource.number}"
        return TimelineRow(
            id=ident if identified else self._word(resource),
            name=resource.label if identified else None,
            type=position,
            state=state_of(resource),
            capacity=resource.capacity,
            values=self._values(resource, kind),
            reason=reason if self.eyes.sight.disabled else None,
        )

    def ordered(self, resources: Collection[Resource]) -> list[tuple[Resource, TimelineRow]]:
        """Return resources with their rows, type by type; anonymous ones in an order that says nothing."""
        found = [(resource, self.row(resource)) for resource in resources]
        places = {each.name: (place, each.identified) for place, each in enumerate(self.types)}

        def place(pair: tuple[Resource, TimelineRow]) -> tuple[int, int, str]:
            position, identified = places[pair[0].type]
            return position, pair[0].number if identified else 0, pair[1].id

        return sorted(found, key=place)

    def matching(self, text: str | None, resources: Sequence[Resource]) -> list[Resource]:
        """Return the resources that match an expression.

        Raises InvalidInputError for a name that the caller may not use, or that none of them has.
        """
        condition = ANYTHING if text is None else parse(text, FILTER)
        if condition == ANYTHING:
            return list(resources)
        mentioned = names(condition)
        for kind in self.kinds:
            check_names(self.eyes.sight, kind, {FILTER: mentioned})
        known = [(each, self._known(each)) for each in resources]
        unknown = mentioned.difference(*(values.keys() for _, values in known))
        if unknown and known:
            path = f"/v1/availability/properties?resource_type={self.kinds[0].name}"
            message = f"No resource has a property ${min(unknown)}. GET {path} lists those that can be asked for."
            raise InvalidInputError(message, field=FILTER, details={"unknown_property": min(unknown)})
        check_orderings({FILTER: text or ""}, {}, lambda name: _values_of(name, [values for _, values in known]))
        return [each for each, values in known if _holds(condition, values)]

    def _known(self, resource: Resource) -> Mapping[str, Any]:
        return {name: value for name, value in resource.values.items() if (resource.type, name) not in self.private}

    def _values(self, resource: Resource, kind: Kind[Any]) -> Mapping[str, Any]:
        hidden = ALWAYS_IDENTIFYING | kind.identifying
        values = {**resource.properties, **resource.attributes}
        private = self.private
        return {
            name: value
            for name, value in values.items()
            if name not in hidden and value is not None and (resource.type, name) not in private
        }

    def _word(self, resource: Resource) -> str:
        """Return an id that stays the same for the project, and tells it nothing about the one of another project."""
        text = f"{resource.type}\n{resource.number}\n{self.eyes.caller.project_id}"
        return hmac.digest(self.key, text.encode(), "sha256").hex()[:_WORD]


def _values_of(name: str, resources: Sequence[Mapping[str, Any]]) -> Collection[str]:
    return {as_text(values[name]) for values in resources if values.get(name) is not None}


def _holds(condition: Expression, values: Mapping[str, Any]) -> bool:
    return matches(condition, values.get)
