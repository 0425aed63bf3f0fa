"""The wait for a lease to start, by long poll of the event log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold_client.cli.output.shown import show_both, show_span
from leasehold_client.errors import ApiError, ClientError, UnreachableError
from leasehold_client.event import LATEST, LONGEST_WAIT
from leasehold_client.lease import ENDED

if TYPE_CHECKING:
    from leasehold_client import Client
    from leasehold_client.cli.command.base import Talking
    from leasehold_client.lease import Lease

_STARTED = "ACTIVE"


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that begins at this cursor, which is older than the lease, so that nothing is missed."""

    command: Talking
    client: Client
    cursor: str
    until: datetime | None

    def for_start(self, lease: Lease) -> Lease:
        """Return the lease when it is active; says each change.

        Raises ClientError if it ends, if it is too late, or if the service cannot be reached any more.
        """
        cursor, told = self.cursor, ""
        while True:
            told = self._tell(lease, told)
            if lease.status == _STARTED:
                return lease
            if lease.status in ENDED:
                raise ClientError(f"The lease {lease.name} did not start: {lease.status_reason or lease.status}")
            seconds = self._seconds(lease)
            try:
                cursor = self.client.events.page(after=cursor, lease_id=lease.id, wait=seconds).next
                lease = self.client.leases.get(lease.id)
            except (ApiError, UnreachableError) as error:
                if isinstance(error, ApiError) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                raise ClientError(f"{error} The lease {lease.name} {_goes_on(lease)}") from None

    def _tell(self, lease: Lease, told: str) -> str:
        """Say how the lease is, unless that was said before."""
        clock = self.command.clock
        when = f", starts {show_both(lease.start, clock.now(), clock.zone)}" if lease.start > clock.now() else ""
        news = f"{lease.status} {lease.status_reason}"
        if news != told:
            reason = f": {lease.status_reason}" if lease.status_reason else ""
            self.command.tell(f"{lease.name} is {lease.status}{when}{reason}")
        return news

    def _seconds(self, lease: Lease) -> int:
        if self.until is None:
            return LONGEST_WAIT
        left = self.until - self.command.clock.now()
        if left <= timedelta(0):
            raise ClientError(f"The lease {lease.name} is {lease.status} still. It {_goes_on(lease)}")
        return max(1, min(LONGEST_WAIT, int(left.total_seconds())))


def _goes_on(lease: Lease) -> str:
    return f"goes on without this command; see lease show {lease.id}"


def begin_wait(command: Talking, limit: timedelta | None) -> Wait:
    """Return a wait for a lease that is created after this call, of at most so long."""
    # Not patiently yet: an endpoint with a typing error should be refused at once.
    cursor = command.client.events.page(after=LATEST).next
    if limit is not None:
        command.tell(f"Waiting at most {show_span(limit)}.")
    until = None if limit is None else command.clock.now() + limit
    return Wait(command, command.client.patiently(), cursor, until)
