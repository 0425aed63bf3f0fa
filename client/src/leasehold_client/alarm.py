"""Capacity alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.collection import OwnCollection, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Alarm:
    """Low while fewer than `below` could be leased; `available` is None while that is not known."""

    id: str
    name: str
    state: str
    below: int
    available: int | None
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Alarm:
        """Return the alarm of an answer."""
        return cls(
            id=values["id"],
            name=values["name"],
            state=values["state"],
            below=values["below"],
            available=values["available"],
            values=values,
        )


class Alarms(OwnCollection[Alarm]):
    """The capacity alarms of the caller's project."""

    PATH, ONE, MANY, NOUN = "/alarms", "alarm", "alarms", "alarm"
    THING = Alarm

    def create(
        self, reservation: Mapping[str, Any], below: int, lasts: timedelta | None = None, name: str | None = None
    ) -> Alarm:
        """Have the project told when fewer than `below` of this could be leased from now on for so long."""
        duration = None if lasts is None else int(lasts.total_seconds())
        return self._create(said(reservation=dict(reservation), below=below, duration=duration, name=name))
