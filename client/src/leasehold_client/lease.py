"""Leases."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from leasehold_client.named import one_named
from leasehold_client.transport import V1_3
from leasehold_client.wire import read_time, write_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold_client.transport import Transport

HOST = "physical:host"
ENDED = frozenset({"TERMINATED", "ERROR", "TIMEDOUT"})
"""Statuses after which nothing happens to a lease by itself."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """One thing that a lease asks for; `values` is all that the service says about it."""

    id: str
    resource_type: str
    status: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease over `[start, end)`, aware and in UTC; `values` is all that the service says about it."""

    id: str
    name: str
    status: str
    status_reason: str | None
    degraded: bool
    project_id: str
    start: datetime
    end: datetime
    reservations: tuple[Reservation, ...]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Lease:
        """Return the lease of an answer."""
        parts = [
            Reservation(each["id"], each["resource_type"], each["status"], each) for each in values["reservations"]
        ]
        return cls(
            id=values["id"],
            name=values["name"],
            status=values["status"],
            status_reason=values.get("status_reason"),
            degraded=values["degraded"],
            project_id=values["project_id"],
            start=read_time(values["start_date"]),
            end=read_time(values["end_date"]),
            reservations=tuple(parts),
            values=values,
        )


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A lease to ask for; `start` None means at once. `more` holds further keys of the API, such as `type`."""

    name: str
    start: datetime | None
    end: datetime
    reservations: Sequence[Mapping[str, Any]]
    before_end: datetime | None = None
    events: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return it as the API reads it."""
        before_end = {} if self.before_end is None else {"before_end_date": write_time(self.before_end)}
        return {
            "name": self.name,
            "start_date": "now" if self.start is None else write_time(self.start),
            "end_date": write_time(self.end),
            "reservations": [dict(each) for each in self.reservations],
            "events": [dict(each) for each in self.events],
            **before_end,
            **self.more,
        }


class Leases:
    """The leases of the caller's project; administrators see those of all projects."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Lease]:
        return [Lease.read(each) for each in self._transport.get("/leases")["leases"]]

    def get(self, ident: str) -> Lease:
        return Lease.read(self._transport.get(f"/leases/{ident}")["lease"])

    def find(self, name: str) -> Lease:
        """Return the lease with this id, or the only one with this name; raises NotFoundError."""
        if _is_id(name):
            return self.get(name)
        leases = {each.id: each for each in self.list()}
        return leases[one_named("lease", name, ((each.id, each.name) for each in leases.values()))]

    def create(self, request: LeaseRequest) -> Lease:
        return Lease.read(self._transport.post("/leases", request.body(), key=str(uuid4()))["lease"])

    def try_to_create(self, request: LeaseRequest) -> Lease:
        """Return the lease as it would be, and create none; raises ApiError as `create` would."""
        body = {**request.body(), "dry_run": True}
        return Lease.read(self._transport.post("/leases", body, version=V1_3)["lease"])

    def change(
        self,
        ident: str,
        *,
        name: str | None = None,
        start: datetime | timedelta | None = None,
        end: datetime | timedelta | None = None,
        reservations: Sequence[Mapping[str, Any]] = (),
    ) -> Lease:
        """Make all of these changes or none; None changes nothing. Each reservation names its `id` and what is new.

        A timedelta moves a date from where it is when the change is made: later, or earlier if it is negative.
        """
        changes = {"name": name, "reservations": [dict(each) for each in reservations] or None}
        body = {key: value for key, value in changes.items() if value is not None}
        body |= _date("start_date", "start_later_seconds", "start_earlier_seconds", start)
        body |= _date("end_date", "extend_seconds", "shorten_seconds", end)
        return Lease.read(self._transport.put(f"/leases/{ident}", body, version=V1_3, key=str(uuid4()))["lease"])

    def swap(
        self, ident: str, *, server: str | None = None, host: str | None = None, servers: Sequence[str] = ()
    ) -> Lease:
        """Swap the host with this server on it, or this host; `servers` are the ids of all servers on it."""
        named = {"server": server, "host": host}
        body: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
        if servers:
            body["servers"] = list(servers)
        return Lease.read(self._transport.post(f"/leases/{ident}/swap", body)["lease"])

    def delete(self, ident: str) -> None:
        self._transport.delete(f"/leases/{ident}")


def _date(absolute: str, later: str, earlier: str, value: datetime | timedelta | None) -> dict[str, Any]:
    """Return the key of the API that says this change of a date; none for no change."""
    if value is None:
        return {}
    if not isinstance(value, timedelta):
        return {absolute: write_time(value)}
    seconds = int(value.total_seconds())
    return {later: seconds} if seconds >= 0 else {earlier: -seconds}


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
