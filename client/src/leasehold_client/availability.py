"""How much is free when, and when a lease could be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.errors import ApiError
from leasehold_client.transport import V1_3
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


class AvailabilityCalls:
    """Questions about what is free; every member of a project may ask."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def show(self, reservation: Mapping[str, Any], start: datetime, end: datetime) -> Availability:
        """Return how much of what a reservation asks for is free from start to end; how many it asks for is ignored."""
        wanted = {key: value for key, value in reservation.items() if value not in ("", [])}
        query = {**wanted, "from": write_time(start), "to": write_time(end)}
        return Availability.read(self._transport.get("/availability", query, version=V1_3)["availability"])

    def search(
        self,
        request: LeaseRequest,
        duration: timedelta,
        *,
        limit: int = 1,
    ) -> Sequence[FreeWindow]:
        """Return the first windows of this length in which a lease would be granted, from its start on.

        Its end does not count. Raises ApiError with the refusal of the lease where there is none.
        """
        body: dict[str, Any] = {
            "reservations": [dict(each) for each in request.reservations],
            "duration_seconds": int(duration.total_seconds()),
            "start_date": request.body()["start_date"],
            "limit": limit,
        }
        answer = self._transport.post("/availability/search", body, version=V1_3)
        if not answer["windows"]:
            refused = answer["refused"][0]
            raise ApiError(_NO_WINDOW, refused["error_message"], refused["code"], None, refused["details"])
        return [FreeWindow(read_time(each["start_date"]), read_time(each["end_date"])) for each in answer["windows"]]
