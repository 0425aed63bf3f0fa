"""How much is free when, and when a lease could be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, said, write_time
from leasehold_client.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold_client.lease import LeaseRequest

_NO_WINDOW = 409


@dataclass(frozen=True, slots=True)
class AvailabilityStep:
    """So much is free and reserved over `[start, end)`, aware and in UTC."""

    start: datetime
    end: datetime
    free: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Availability(AnswerModel):
    """The steps of a window; `throughout` is what one lease of all of it would get, None if that is not known."""

    unit: str
    total: int
    held_back: int
    throughout: int | None
    steps: tuple[AvailabilityStep, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Availability:
        columns = values["steps"]
        starts = [read_time(each) for each in columns["from"]]
        ends = [*starts[1:], read_time(values["to"])]
        steps = map(AvailabilityStep, starts, ends, columns["free"], columns["reserved"])
        return read_as(cls, values, steps=tuple(steps))


@dataclass(frozen=True, slots=True)
class FreeWindow(AnswerModel):
    """A window in which a lease would be granted, `[start, end)`, aware and in UTC.

    `alternative` is the place of what would be granted among those of the wish, and `amounts` has one for each of its
    reservations. `estimates` say more of it, such as its `cost` where something has a price.
    """

    start: datetime
    end: datetime
    alternative: int
    amounts: tuple[int, ...]
    estimates: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FreeWindow:
        amounts = tuple(each["amount"] for each in values["reservations"])
        return read_as(cls, values, amounts=amounts, estimates=values.get("estimates", {}))


@dataclass(frozen=True, slots=True)
class RefusedAlternative:
    """An alternative that has no window, and the refusal of its lease."""

    alternative: int
    error: ApiError

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> RefusedAlternative:
        error = ApiError(_NO_WINDOW, values["error_message"], values["code"], None, values["details"])
        return cls(values["alternative"], error)


@dataclass(frozen=True, slots=True)
class FreeWindows:
    """What a search has found: the first windows, earliest first, and the alternatives that have none."""

    windows: tuple[FreeWindow, ...]
    refused: tuple[RefusedAlternative, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FreeWindows:
        """Return what an answer says."""
        return cls(
            tuple(map(FreeWindow.read, values["windows"])), tuple(map(RefusedAlternative.read, values["refused"]))
        )


@dataclass(frozen=True, slots=True)
class Wish:
    """What to look for: the lease of a request, from its start on; its end does not count.

    `duration` None means the length that the template of the request says. If nothing of that length is free, the
    longest that is will do, but at least `shortest`. It is over at `before`. `alternatives` are reservations of which
    each would do alone, in place of those of the request; that has no template then.
    """

    request: LeaseRequest
    duration: timedelta | None
    shortest: timedelta | None = None
    before: datetime | None = None
    alternatives: Sequence[Mapping[str, Any]] = ()
    limit: int = 1

    def of(self, alternative: int) -> Sequence[Mapping[str, Any]]:
        """Return the reservations of an alternative; the first one is the request itself."""
        return [self.alternatives[alternative - 1]] if alternative else self.request.reservations

    def body(self) -> dict[str, Any]:
        """Return it as the API reads it."""
        contents = {key: value for key, value in self.request.contents().items() if key != "events"}
        if self.alternatives:
            alternatives = [contents["reservations"], *([dict(each)] for each in self.alternatives)]
            contents = {"alternatives": alternatives}
        project = {key: value for key, value in self.request.more.items() if key == "project_id"}
        return {
            **contents,
            **project,
            **said(duration_seconds=self.duration, shortest_seconds=self.shortest, end_date=self.before),
            "start_date": self.request.body()["start_date"],
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Askable:
    """A property by which leases can choose, and the values that there are, of which `left_out` are not told."""

    name: str
    values: tuple[str, ...]
    left_out: int

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Askable:
        return cls(values["property"], tuple(values["values"]), values["left_out"])


class AvailabilityCalls(Calls):
    """Questions about what is free; every member of a project may ask."""

    def show(self, reservation: Mapping[str, Any], start: datetime, end: datetime) -> Availability:
        """Return how much of what a reservation asks for is free from start to end; how many it asks for is ignored."""
        query = asked_of(reservation, start, end)
        return Availability.read(self._transport.get("/availability", query)["availability"])

    def properties(self, resource_type: str | None = None) -> list[Askable]:
        """Return by which properties leases can choose resources of a type; None is the hosts."""
        query = {} if resource_type is None else {"resource_type": resource_type}
        return [Askable.read(each) for each in self._transport.get("/availability/properties", query)["properties"]]

    def search(self, wish: Wish) -> FreeWindows:
        """Return the first windows in which the lease, or one of its alternatives, would be granted."""
        return FreeWindows.read(self._transport.post("/availability/search", wish.body()))


def asked_of(reservation: Mapping[str, Any], start: datetime, end: datetime) -> dict[str, Any]:
    """Return the query of a question about what a reservation asks for."""
    wanted = {key: value for key, value in reservation.items() if value not in ("", [])}
    return {**wanted, "from": write_time(start), "to": write_time(end)}
