"""How much is free when, and when a lease could be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.errors import ApiError
from leasehold_client.wire import read_time, write_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from leasehold_client.lease import LeaseRequest
    from leasehold_client.transport import Transport

_NO_WINDOW = 409


@dataclass(frozen=True, slots=True)
class Step:
    """So much is free and reserved over `[start, end)`, aware and in UTC."""

    start: datetime
    end: datetime
    free: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Availability:
    """The steps of a window; `throughout` is what one lease of all of it would get, None if that is not known."""

    unit: str
    total: int
    held_back: int
    throughout: int | None
    steps: tuple[Step, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Availability:
        """Return the availability of an answer."""
        columns = values["steps"]
        starts = [read_time(each) for each in columns["from"]]
        ends = [*starts[1:], read_time(values["to"])]
        steps = map(Step, starts, ends, columns["free"], columns["reserved"])
        return cls(values["unit"], values["total"], values["held_back"], values["throughout"], tuple(steps))


@dataclass(frozen=True, slots=True)
class FreeWindow:
    """A window in which a lease would be granted, `[start, end)`, aware and in UTC."""

    start: datetime
    end: datetime

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FreeWindow:
        """Return the window of an answer."""
        return cls(read_time(values["start_date"]), read_time(values["end_date"]))


class AvailabilityCalls:
    """Questions about what is free; every member of a project may ask."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def show(self, reservation: Mapping[str, Any], start: datetime, end: datetime) -> Availability:
        """Return how much of what a reservation asks for is free from start to end; how many it asks for is ignored."""
        query = asked_of(reservation, start, end)
        return Availability.read(self._transport.get("/availability", query)["availability"])

    def search(
        self,
        request: LeaseRequest,
        duration: timedelta | None,
        *,
        limit: int = 1,
    ) -> Sequence[FreeWindow]:
        """Return the first windows of this length in which a lease would be granted, from its start on.

        Its end does not count, and a `duration` of None means the length that its template says. Raises ApiError with
        the refusal of the lease where there is none.
        """
        answer = self._transport.post("/availability/search", search_body(request, duration, limit))
        if not answer["windows"]:
            refused = answer["refused"][0]
            raise ApiError(_NO_WINDOW, refused["error_message"], refused["code"], None, refused["details"])
        return [FreeWindow.read(each) for each in answer["windows"]]


def asked_of(reservation: Mapping[str, Any], start: datetime, end: datetime) -> dict[str, Any]:
    """Return the query of a question about what a reservation asks for."""
    wanted = {key: value for key, value in reservation.items() if value not in ("", [])}
    return {**wanted, "from": write_time(start), "to": write_time(end)}


def search_body(request: LeaseRequest, duration: timedelta | None, limit: int) -> dict[str, Any]:
    """Return the body of a search for windows of this length, from the start of the request on."""
    return {
        **{key: value for key, value in request.contents().items() if key != "events"},
        **({} if duration is None else {"duration_seconds": int(duration.total_seconds())}),
        "start_date": request.body()["start_date"],
        "limit": limit,
    }
