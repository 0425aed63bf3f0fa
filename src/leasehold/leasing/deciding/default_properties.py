"""Decide with the properties that operators prefer for reservations that name none (feature C9, decision 0081).

A preference narrows what a reservation may newly get, and never refuses: where it gives too little, the decision is
made without it. What a reservation holds it keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.model.budget import nothing_to_check
from leasehold.model.terms.default_properties import DefaultProperties
from leasehold.resource_types.conditions import condition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.conf.settings import LeaseSettings
    from leasehold.model.allocation import Pick
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression
    from leasehold.resource_types.kind import Kind


def default_of(settings: LeaseSettings, kind: Kind[Any], request: Any) -> DefaultProperties | None:
    """Return the default properties of a new reservation; None if it names properties, or its type has none."""
    text = settings.default_properties_by_type.get(kind.name)
    return None if text is None or names_properties(kind, request) else DefaultProperties(text)


def names_properties(kind: Kind[Any], request: Any) -> bool:
    """Say whether a request has a property expression of its own; `[]` is one, which everything matches."""
    return any(kind.expressions(request).values())


def condition_in(default: DefaultProperties) -> Expression:
    """Return the condition of default properties."""
    return condition_of({"default_properties": default.filter})


def preferred(view: Snapshot, default: DefaultProperties, check: Callable[[], None] = nothing_to_check) -> Snapshot:
    """Return the pool in which a new allocation may use nothing without the default properties."""
    return view.among(view.eligible.narrowed(view.eligible.matching(condition_in(default), check)))


def judged(view: Snapshot, default: DefaultProperties | None, picks: Sequence[Pick]) -> DefaultProperties | None:
    """Return the default properties of a reservation that has these picks in the end."""
    if default is None:
        return None
    matches = view.eligible.matching(condition_in(default))
    return replace(default, applied=bool(matches[view.rows(pick.resource_number for pick in picks)].all()))


def with_defaults(
    lease: Lease, pools: Sequence[str], picks: Sequence[Sequence[Pick]], snapshots: Mapping[str, Snapshot]
) -> Lease:
    """Return a lease whose reservations get these picks of their pools, with what its default properties then say."""
    if all(part.default_properties is None for part in lease.reservations):
        return lease
    found = [
        replace(part, default_properties=judged(snapshots[pool], part.default_properties, chosen))
        for part, pool, chosen in zip(lease.reservations, pools, picks, strict=True)
    ]
    return replace(lease, reservations=tuple(found))
