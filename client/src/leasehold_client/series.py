"""Series of leases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import read_time, said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Occurrence(AnswerModel):
    """One lease of a series over `[start, end)`, aware and in UTC; `refusal` is a sentence, None if it was granted.

    `planned` is when the rule has it, None if that is so.
    """

    start: datetime
    end: datetime
    planned: tuple[datetime, datetime] | None
    lease_id: str | None
    status: str | None
    refusal: str | None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Occurrence:
        refused, planned = values["refused"], values.get("planned")
        return read_as(
            cls,
            values,
            planned=planned and (read_time(planned["start_date"]), read_time(planned["end_date"])),
            refusal=None if refused is None else refused["error_message"],
        )


@dataclass(frozen=True, slots=True)
class Series(AnswerModel):
    """Leases by a recurrence rule of RFC 5545."""

    id: str
    name: str
    rule: str
    occurrences: tuple[Occurrence, ...]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Series:
        return read_as(cls, values, occurrences=tuple(map(Occurrence.read, values["occurrences"])))


@dataclass(frozen=True, slots=True)
class SeriesRequest:
    """A series to ask for; start and end are those of the first occurrence, and `rule` says when the others are."""

    name: str
    start: datetime
    end: datetime
    rule: str
    reservations: Sequence[Mapping[str, Any]]
    time_zone: str | None = None
    heal_policy: str | None = None
    purpose: str | None = None

    def body(self) -> dict[str, Any]:
        """Return it as the API reads it."""
        return said(
            name=self.name,
            start_date=self.start,
            end_date=self.end,
            rule=self.rule,
            reservations=[dict(each) for each in self.reservations],
            time_zone=self.time_zone,
            heal_policy=self.heal_policy,
            purpose=self.purpose,
        )


class SeriesCalls(OwnCollection[Series]):
    """The series of the caller's project."""

    PATH, ONE, MANY, NOUN = "/series", "series", "series", "series"
    THING = Series

    def create(self, request: SeriesRequest) -> Series:
        """Ask for a lease for each occurrence; those that are refused say why."""
        return self._create(request.body(), key=str(uuid4()))

    def change(
        self,
        ident: str,
        *,
        name: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        reservations: Sequence[Mapping[str, Any]] = (),
        purpose: str | None = None,
    ) -> Series:
        """Change what has not begun, and ask again for what was refused; None changes nothing.

        The dates are those of the first occurrence. `reservations` has what changes about each, in their order, and an
        empty `purpose` takes that away.
        """
        parts = [dict(each) for each in reservations]
        body = said(name=name, start_date=start, end_date=end, reservations=parts, purpose=purpose)
        return self._change(ident, body)
