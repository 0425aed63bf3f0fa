"""Follows the event log after each step, and compares what it knows of each promise with what is held."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leasehold.features.usage.follow import follow
from leasehold.features.usage.model import is_over, promises_of
from leasehold.features.usage.store import terms_of
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from tests.factory import World


def mistold(world: World) -> list[str]:
    """Return the reservations that hold anything else now than what they were promised, less what is missing of it.

    The record knows that from events alone: a change without an event would show here.
    """
    sequence_events(world.service)
    follow(world.service)
    leases = {each.id: world.get(each) for each in queries.each_lease(world.service, None)}
    with world.service.db.reading() as connection:
        known = terms_of(connection, leases)
    now, wrong = to_seconds(world.now()), []
    for lease, part in ((each, part) for each in leases.values() for part in promises_of(each)):
        if part.id not in known and is_over(lease, part):
            # Nothing told of it before it was over.
            continue
        terms, held = known[part.id], Counter[bool]()
        for each in part.allocations:
            held[each.left_at is None and each.window.seconds[0] <= now < each.window.seconds[1]] += each.slots
        if (
            terms.over_at is None
            and terms.starts_at <= now < terms.ends_at
            and held[True] != terms.amount - terms.missing
        ):
            wrong.append(f"reservation {part.id} holds {held[True]} at {now}: {terms}")
    return wrong
