"""Flexible leases: so much time within a window, where the service may move them until they are frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import read_time, said
from leasehold_client.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class FlexibleLease(AnswerModel):
    """A lease that may be moved until `frozen`, aware and in UTC; its id is that of the lease."""

    id: str
    state: str
    frozen: datetime
    moves: int
    lease: Lease
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the lease."""
        return self.lease.name

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FlexibleLease:
        return read_as(cls, values, frozen=read_time(values["frozen_at"]), lease=Lease.read(values["lease"]))


@dataclass(frozen=True, slots=True)
class FlexibleTerms:
    """Where a lease may be: for so long between two moments, in these hours of a zone; None says nothing.

    A new one may be cut into pieces that last at least `piece`.
    """

    earliest: datetime | None = None
    latest: datetime | None = None
    lasts: timedelta | None = None
    frozen: timedelta | None = None
    strategy: str | None = None
    hours: Sequence[str] = ()
    time_zone: str | None = None
    piece: timedelta | None = None

    def body(self) -> dict[str, Any]:
        """Return it as the API reads it."""
        return said(
            earliest=self.earliest,
            latest=self.latest,
            duration_seconds=self.lasts,
            frozen_seconds=self.frozen,
            strategy=self.strategy,
            hours=list(self.hours),
            time_zone=self.time_zone,
            piece_seconds=self.piece,
        )


class FlexibleLeases(OwnCollection[FlexibleLease]):
    """The flexible leases of the caller's project; to delete one is to fix it where it is."""

    PATH, ONE, MANY, NOUN = "/flexible-leases", "flexible_lease", "flexible_leases", "flexible lease"
    THING = FlexibleLease

    def create(
        self,
        name: str,
        terms: FlexibleTerms,
        reservations: Sequence[Mapping[str, Any]],
        heal_policy: str | None = None,
        purpose: str | None = None,
    ) -> FlexibleLease:
        """Ask for a lease at the best place that the terms allow, or for several in pieces; return the first."""
        parts = [dict(each) for each in reservations]
        asked = said(name=name, reservations=parts, heal_policy=heal_policy, purpose=purpose)
        return self._create({**asked, **terms.body()}, key=str(uuid4()))

    def change(self, ident: str, terms: FlexibleTerms) -> FlexibleLease:
        """Change the terms of one that has not started; it stays where it is if they allow that."""
        return self._change(ident, terms.body())
