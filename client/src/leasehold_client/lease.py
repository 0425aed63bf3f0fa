"""Leases."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import Collection
from leasehold_client.calls.named import is_id
from leasehold_client.calls.part import ListPart
from leasehold_client.calls.wire import said, write_time
from leasehold_client.errors import NotFoundError
from leasehold_client.lease_history import LeaseHistory
from leasehold_client.sub_lease import SubLease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

HOST = "physical:host"
FLOATING_IP = "virtual:floatingip"
ENDED = frozenset({"TERMINATED", "ERROR", "TIMEDOUT"})
"""Statuses after which nothing happens to a lease by itself."""
WAITS = "IN_PROGRESS"
"""The status of a lease that waits for resources."""

_DELETED = ListPart(filters={"deleted": True})


@dataclass(frozen=True, slots=True)
class Reservation(AnswerModel):
    """One thing that a lease asks for; `values` is all that the service says about it."""

    id: str
    resource_type: str
    status: str
    values: Mapping[str, Any]

    @property
    def without_defaults(self) -> str | None:
        """The properties that the operators prefer and that not all it got has; None if there is nothing to say."""
        text: str | None = self.values.get("default_properties")
        return text if self.values.get("default_properties_applied") is False else None


@dataclass(frozen=True, slots=True)
class Lease(AnswerModel):
    """A lease over `[start, end)`, aware and in UTC; `values` is all that the service says about it.

    One that is `open_ended` has an end that never comes. `shared_with` are the projects whose servers may use it too.
    `purpose` says what it is for, None if nobody has said it.
    `warnings` are what its owner should know of it, as sentences, after it was made, changed or tried.
    """

    id: str
    name: str
    status: str
    status_reason: str | None
    degraded: bool
    project_id: str
    start: datetime
    end: datetime
    open_ended: bool
    shared_with: tuple[str, ...]
    reservations: tuple[Reservation, ...]
    values: Mapping[str, Any]
    purpose: str | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Lease:
        parts = tuple(map(Reservation.read, values["reservations"]))
        missing = {key: values.get(key) for key in ("status_reason", "purpose")}
        return read_as(cls, values, **missing, reservations=parts, warnings=())

    @property
    def waits(self) -> bool:
        """Whether it waits for resources."""
        return self.status == WAITS

    def reservation(self, word: str) -> Reservation:
        """Return the reservation with this id or number, from 1 on, or the only one of this type.

        A type is named as a whole or by what follows its colon, such as `host`. Raises NotFoundError.
        """
        parts = self.reservations
        numbered = {str(number): part for number, part in enumerate(parts, 1)}
        found = [part for number, part in numbered.items() if word in (part.id, number)] or [
            part for part in parts if word in (part.resource_type, part.resource_type.partition(":")[2])
        ]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{number} ({part.resource_type})" for number, part in numbered.items())
        which = f"has {len(found)} reservations of {word!r}" if found else f"has no reservation {word!r}"
        raise NotFoundError(f"The lease {self.name} {which}. Name one by its number: {known}.")


@dataclass(frozen=True, slots=True)
class Holding:
    """A resource that a lease has over `[start, end)`, aware and in UTC.

    Id and name are None for who may not list hosts, and the health before the start.
    """

    reservation_id: str
    resource_type: str
    id: str | None
    name: str | None
    health: str | None
    slots: int
    start: datetime
    end: datetime
    values: Mapping[str, Any]

    @classmethod
    def read(cls, reservation_id: str, values: Mapping[str, Any]) -> Holding:
        """Return what an answer says that a reservation has."""
        return read_as(cls, values, reservation_id=reservation_id)


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A lease to ask for; `start` None means at once, and `end` None until it is deleted.

    With a `template`, its id or name, `end` None means as long as that says, and no reservations mean its own. `more`
    holds further keys of the API, such as `type`. With `lasts`, a lease from now on is so long, whenever the request is
    answered; its `end` is about when that is.
    """

    name: str
    start: datetime | None
    end: datetime | None
    reservations: Sequence[Mapping[str, Any]]
    before_end: datetime | None = None
    events: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None
    lasts: timedelta | None = None

    def body(self) -> dict[str, Any]:
        """Return it as the API reads it."""
        return {
            "name": self.name,
            "start_date": "now" if self.start is None else write_time(self.start),
            **self._end(),
            **self.contents(),
            **said(before_end_date=self.before_end),
            **self.more,
        }

    def _end(self) -> dict[str, Any]:
        if self.end is not None and self.start is None and self.lasts is not None:
            return said(duration_seconds=self.lasts)
        if self.end is not None:
            return said(end_date=self.end)
        return {} if self.template else {"open_ended": True}

    def contents(self) -> dict[str, Any]:
        """Return the keys of what it is of; those that say nothing are left to the template, if it has one."""
        parts = {"reservations": list(map(dict, self.reservations)), "events": list(map(dict, self.events))}
        if self.template is None:
            return parts
        return {"template": self.template, **{key: value for key, value in parts.items() if value}}


class Leases(Collection[Lease]):
    """The leases of the caller's project; administrators see those of all projects."""

    PATH, ONE, MANY, NOUN = "/leases", "lease", "leases", "lease"
    THING = Lease

    def get(self, ident: str, as_of: datetime | None = None) -> Lease:
        """Return a lease as it is, or as it was at a moment, also one that was deleted since."""
        return self._one(self._transport.get(f"{self.PATH}/{ident}", said(as_of=as_of)))

    def _one(self, answer: Mapping[str, Any]) -> Lease:
        warnings = tuple(each["message"] for each in answer.get("warnings", ()))
        return replace(self._read(answer[self.ONE]), warnings=warnings)

    def history(self, ident: str) -> LeaseHistory:
        """Return what has changed in a lease, also in a deleted one, and what it held."""
        return LeaseHistory.read(self._transport.get(f"/leases/{ident}/history"))

    def id_of_any(self, name: str) -> str:
        """Return the id of the lease with this id, or of the only one with this name, else of a deleted one.

        Raises NotFoundError for a name that none has.
        """
        if is_id(name):
            return name
        there = self.list()
        return self._only(name, there if any(each.name == name for each in there) else self.list(_DELETED)).id

    def create(self, request: LeaseRequest) -> Lease:
        return self._create(request.body(), key=str(uuid4()))

    def try_to_create(self, request: LeaseRequest) -> Lease:
        """Return the lease as it would be, and create none; raises ApiError as `create` would."""
        return self._create({**request.body(), "dry_run": True})

    def change(
        self,
        ident: str,
        *,
        name: str | None = None,
        start: datetime | timedelta | None = None,
        end: datetime | timedelta | None = None,
        reservations: Sequence[Mapping[str, Any]] = (),
        open_ended: bool = False,
        shared_with: Sequence[str] | None = None,
        purpose: str | None = None,
    ) -> Lease:
        """Make all of these changes or none; None changes nothing. Each reservation names its `id` and what is new.

        A timedelta moves a date from where it is when the change is made: later, or earlier if it is negative.
        `open_ended` takes the end away; `shared_with` are all the other projects whose servers may use the lease. An
        empty `purpose` takes that away.
        """
        body = _changes(
            name=name,
            start=start,
            end=end,
            reservations=reservations,
            open_ended=open_ended,
            shared_with=shared_with,
            purpose=purpose,
        )
        return self._change(ident, body, key=str(uuid4()))

    def try_to_change(self, ident: str, **changes: Any) -> Lease:
        """Return the lease as these changes would make it, and change nothing; raises ApiError as `change` would."""
        return self._change(ident, {**_changes(**changes), "dry_run": True})

    def swap(
        self, ident: str, *, server: str | None = None, host: str | None = None, servers: Sequence[str] = ()
    ) -> Lease:
        """Swap the host with this server on it, or this host; `servers` are the ids of all servers on it."""
        body = said(server=server, host=host, servers=list(servers))
        return self._one(self._transport.post(f"/leases/{ident}/swap", body))

    def lend(
        self,
        ident: str,
        name: str,
        project_id: str,
        *,
        amount: int | None = None,
        hosts: Sequence[str] = (),
        end: datetime | None = None,
        reservation_id: str | None = None,
        notice: timedelta | None = None,
    ) -> SubLease:
        """Lend an amount of hosts that nothing uses, or these hosts, to another project up to `end`, else all along.

        If they are taken back, the project is told so long ahead.
        """
        body = {"name": name, "project_id": project_id}
        body |= said(amount=amount, hosts=list(hosts), reservation_id=reservation_id, end_date=end)
        body |= said(notice_seconds=notice)
        path = f"/leases/{ident}/sub-leases"
        return SubLease.read(self._transport.post(path, body, key=str(uuid4()))["sub_lease"])

    def sub_leases(self, ident: str) -> Sequence[SubLease]:
        """Return what the lease has lent."""
        return [SubLease.read(each) for each in self._transport.get(f"/leases/{ident}/sub-leases")["sub_leases"]]

    def take_back(self, ident: str, sub_lease_id: str) -> None:
        """Delete a sub-lease of the lease, with its servers; the lease has its hosts again when they are gone.

        One with a notice ends when that is over.
        """
        self._transport.delete(f"/leases/{ident}/sub-leases/{sub_lease_id}")

    def heal(self, ident: str) -> Lease:
        """Have what has failed or is missing replaced, as far as others are free."""
        return self._one(self._transport.post(f"/leases/{ident}/heal", {}))

    def resources(self, ident: str) -> Sequence[Holding]:
        """Return the resources that the lease has, by reservation."""
        holders = self._transport.get(f"/leases/{ident}/resources")["reservations"]
        return [Holding.read(holder["reservation_id"], each) for holder in holders for each in holder["resources"]]

    def drop(self, ident: str, reservation_id: str, resource: str | None = None) -> None:
        """Drop one reservation of the lease, which keeps the others; its servers are deleted at once.

        With `resource`, the id of a host or address of it that nothing uses, only that.
        """
        part = f"/leases/{ident}/reservations/{reservation_id}"
        self._transport.delete(part if resource is None else f"{part}/resources/{resource}")


def _changes(
    *,
    name: str | None = None,
    start: datetime | timedelta | None = None,
    end: datetime | timedelta | None = None,
    reservations: Sequence[Mapping[str, Any]] = (),
    open_ended: bool = False,
    shared_with: Sequence[str] | None = None,
    purpose: str | None = None,
) -> dict[str, Any]:
    """Return the body that asks for changes."""
    parts = [dict(each) for each in reservations]
    body = said(name=name, reservations=parts, open_ended=open_ended or None, purpose=purpose)
    if shared_with is not None:
        body["shared_with"] = list(shared_with)
    body |= _date("start_date", "start_later_seconds", "start_earlier_seconds", start)
    return body | _date("end_date", "extend_seconds", "shorten_seconds", end)


def _date(absolute: str, later: str, earlier: str, value: datetime | timedelta | None) -> dict[str, Any]:
    """Return the key of the API that says this change of a date; none for no change."""
    if value is None:
        return {}
    if not isinstance(value, timedelta):
        return said(**{absolute: value})
    seconds = int(value.total_seconds())
    return {later: seconds} if seconds >= 0 else {earlier: -seconds}
