"""Capacity alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Alarm(AnswerModel):
    """Low while fewer than `below` could be leased; `available` is None while that is not known."""

    id: str
    name: str
    state: str
    below: int
    available: int | None
    values: Mapping[str, Any]


class Alarms(OwnCollection[Alarm]):
    """The capacity alarms of the caller's project."""

    PATH, ONE, MANY, NOUN = "/alarms", "alarm", "alarms", "alarm"
    THING = Alarm

    def create(
        self, reservation: Mapping[str, Any], below: int, lasts: timedelta | None = None, name: str | None = None
    ) -> Alarm:
        """Have the project told when fewer than `below` of this could be leased from now on for so long."""
        return self._create(said(reservation=dict(reservation), below=below, duration=lasts, name=name))
