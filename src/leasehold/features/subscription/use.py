"""Subscriptions: who is sent events, from when on, and again on request (feature D5, decision 0040)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy.exc import IntegrityError

from leasehold.db import event_log
from leasehold.db.leases.lease import find_lease
from leasehold.db.project import enter
from leasehold.features.subscription import store as rows
from leasehold.features.subscription.channels import CHANNELS
from leasehold.features.subscription.model import SLOW_FOR, ChannelName, Subscription, TooManySubscriptionsError
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.event_log import BUS_EVENTS
from leasehold.model.paging import WHOLE, PageRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.subscription.model import DeadLetter
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.event_log import Cursor

BUS_ID = "00000000-0000-0000-0000-000000000b05"
"""The id of the subscription of the message bus: fixed, so that there is one."""


def subscribe(
    service: Service,
    caller: Caller,
    channel: ChannelName,
    target: str,
    *,
    event_types: Sequence[str] = (),
    lease_id: str | None = None,
    all_projects: bool = False,
    own: bool = False,
) -> Subscription:
    """Write a subscription to what happens from now on, and return it; `own`: only to the caller's leases and alarms.

    Raises InvalidInputError for a target that cannot be used, or a lease that the project does not have, and
    TooManySubscriptionsError.
    """
    settings = service.settings.of(DeliverySettings)
    CHANNELS[channel].check(target, settings)
    ident, secret, now = str(uuid4()), CHANNELS[channel].secret(), service.now()

    def write(connection: Connection) -> Subscription:
        # Its subscriptions are counted while no other transaction of the project adds one, also on another node.
        enter(connection, caller.project_id)
        if lease_id is not None:
            lease = find_lease(connection, lease_id)
            if lease is None or not (all_projects or lease.project_id == caller.project_id):
                message = "lease_id is not a lease of this project. Send the id of a lease that the project has."
                raise InvalidInputError(message, field="lease_id")
        end = event_log.lock_log(connection).end
        if rows.count_subscriptions(connection, caller.project_id) >= settings.subscriptions:
            raise TooManySubscriptionsError(settings.subscriptions)
        new = Subscription(
            id=ident,
            project_id=caller.project_id,
            user_id=caller.user_id,
            all_projects=all_projects,
            channel=channel,
            target=target,
            secret=secret,
            event_types=tuple(sorted(set(event_types))),
            lease_id=lease_id,
            created_at=now,
            position=end.position,
            due_at=_after_a_pause(service, channel),
            slow_until=now + SLOW_FOR,
            own=own,
        )
        rows.add_subscription(connection, new)
        return new

    return service.db.transact(write)


def follow_bus(service: Service) -> Subscription:
    """Return the subscription of the message bus, which begins at the end of the log when it is made.

    There is one for all bridges, and it stays when none runs, so that the next one goes on where the last stopped.
    """
    now = service.now()

    def write(connection: Connection) -> Subscription:
        end = event_log.lock_log(connection).end
        found = rows.find_subscription(connection, BUS_ID, channels=(ChannelName.BUS,))
        if found is not None:
            return found
        new = Subscription(
            id=BUS_ID,
            project_id="",
            user_id="",
            all_projects=True,
            channel=ChannelName.BUS,
            target="",
            secret="",
            event_types=BUS_EVENTS,
            lease_id=None,
            created_at=now,
            position=end.position,
        )
        rows.add_subscription(connection, new)
        return new

    try:
        return service.db.transact(write)
    except IntegrityError:
        # On Galera another bridge has made it on another node.
        return service.db.transact(write)


def list_subscriptions(service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[Subscription]:
    """Return a part of the subscriptions of a project, or with None of all projects, oldest first."""
    with service.db.reading() as connection:
        return rows.list_subscriptions(connection, project_id, part)


def get_subscription(service: Service, ident: str) -> Subscription:
    """Return a subscription; raises NotFoundError."""
    with service.db.reading() as connection:
        return _found(connection, ident)


def unsubscribe(service: Service, ident: str) -> None:
    """Remove a subscription with its dead letters; raises NotFoundError."""

    def write(connection: Connection) -> None:
        _found(connection, ident, lock=True)
        rows.delete_subscription(connection, ident)

    service.db.transact(write)


def list_dead_letters(service: Service, ident: str, after: Cursor, limit: int) -> Sequence[DeadLetter]:
    """Return up to `limit` dead letters of a subscription after a cursor, in the order of the log."""
    with service.db.reading() as connection:
        return rows.list_dead_letters(connection, ident, after.position, limit)


def replay(service: Service, ident: str, event: Cursor | None) -> Subscription:
    """Send an event and all that follow it again, or with None go on where the deliveries are, whatever failed before.

    Raises NotFoundError for a subscription or an event that is not there, as after a purge, and InvalidInputError for
    an event that was not delivered yet: what is before it would be left out.
    """

    def write(connection: Connection) -> Subscription:
        found = _found(connection, ident, lock=True)
        position = found.position
        if event is not None:
            if event_log.nonce_at(connection, event.position) != event.nonce:
                raise NotFoundError("event_id", str(event))
            if event.position > position:
                message = "The event has not been delivered yet. Leave event_id out to go on where the deliveries are."
                raise InvalidInputError(message, field="event_id")
            position = event.position - 1
        rows.rewind(connection, ident, position, _after_a_pause(service, found.channel))
        return _found(connection, ident)

    return service.db.transact(write)


def _after_a_pause(service: Service, channel: ChannelName) -> datetime | None:
    """Return when the next event may be sent: otherwise replays and new subscriptions would do without the pause."""
    pause = CHANNELS[channel].pause(service.settings.of(DeliverySettings))
    return service.now() + pause if pause else None


def _found(connection: Connection, ident: str, *, lock: bool = False) -> Subscription:
    found = rows.find_subscription(connection, ident, lock=lock)
    if found is None:
        raise NotFoundError("subscription_id", ident)
    return found
