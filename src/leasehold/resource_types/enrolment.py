"""What a driver tells about the things in its cloud that an administrator enrols as resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Report:
    """How a resource is now: `up`, and `enabled` for new work. A disabled resource is in maintenance, not failed."""

    up: bool = True
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Discovery:
    """A thing in the cloud that can be enrolled.

    `id` is the resource's id in the API, `reference` its name in the cloud. Among the enrolled resources of a type both
    are unique. `capacity` and `max_unit` are amounts by resource class, as in `Resource`. `membership` is the pool for
    which it is enrolled; only a type that is `movable` has another than the reservation pool.
    """

    id: str
    reference: str
    attributes: Mapping[str, Any]
    capacity: Mapping[str, int] = field(default_factory=dict)
    max_unit: Mapping[str, int] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    report: Report = field(default_factory=Report)
    membership: Membership = Membership.RESERVATION
