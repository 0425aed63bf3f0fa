"""What a client asks for, after the API has checked names, types and dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class LeaseDraft:
    """A requested lease. `reservations` are raw objects with a `resource_type`; their plugin reads the rest.

    `events` holds the types of the events that the client passed; they are stored and shown, but never run
    (contract http-api §5.3). `before_end` None means the configured time before the end. `fingerprint` identifies the
    request as received, with "now" unresolved: it shows whether a repeated key comes with the same request.
    """

    name: str
    start: datetime
    end: datetime
    before_end: datetime | None = None
    reservations: tuple[Mapping[str, Any], ...] = ()
    events: tuple[str, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class LeaseChanges:
    """A requested amendment: None means unchanged. `reservations` are raw objects, each with the `id` it changes."""

    name: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    before_end: datetime | None = None
    reservations: tuple[Mapping[str, Any], ...] | None = None

    @property
    def nothing(self) -> bool:
        """Say whether the amendment asks for no change at all."""
        return self == LeaseChanges()

    @property
    def only_name(self) -> bool:
        """Say whether the amendment changes only the name."""
        return not self.nothing and self == LeaseChanges(name=self.name)
