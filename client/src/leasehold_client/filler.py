"""Fillers: idle hosts until something that is promised needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Filler(AnswerModel):
    """A filler, with its hosts as the API shows them; `guaranteed_until` None: nothing is promised on them."""

    id: str
    name: str
    state: str
    guaranteed_until: str | None
    hosts: Sequence[Mapping[str, Any]]
    values: Mapping[str, Any]


class Fillers(OwnCollection[Filler]):
    """The fillers of the caller's project."""

    PATH, ONE, MANY, NOUN = "/fillers", "filler", "fillers", "filler"
    THING = Filler

    def create(
        self,
        reservation: Mapping[str, Any],
        at_least: timedelta | None = None,
        end: datetime | None = None,
        name: str | None = None,
    ) -> Filler:
        """Have hosts of which nothing is promised for so long, until they are needed, or until an end."""
        return self._create(said(reservation=dict(reservation), at_least=at_least, end_date=end, name=name))

    def _named(self) -> list[Filler]:
        """Return those that have not ended: one that has may have had the same name."""
        return self._list({"state": "active"})
