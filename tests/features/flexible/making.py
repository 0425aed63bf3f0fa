"""Make flexible leases in tests, and say where they are."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from leasehold.features.flexible import use
from leasehold.features.flexible.model import FlexibleDraft, Terms
from leasehold.leasing.reading.queries import get_lease
from tests.factory import DEMO, START, hosts

if TYPE_CHECKING:
    from leasehold.features.flexible.use import Placed
    from leasehold.model.caller import Caller
    from tests.factory import World

HOUR = timedelta(hours=1)


def flexible(
    world: World, latest: float, hours_: float = 8, *asked: dict[str, Any], caller: Caller = DEMO, **more: Any
) -> Placed:
    """Make a flexible lease of so many hours, of one host unless something else is asked for."""
    key = more.pop("key", None)
    piece = more.pop("piece", None)
    terms = Terms(
        world.hour(more.pop("earliest", 0)),
        world.hour(latest),
        hours_ * HOUR,
        more.pop("frozen", HOUR),
        **more,
    )
    fingerprint = sha256(repr((terms, piece, asked)).encode()).hexdigest()
    draft = FlexibleDraft("flexible", terms, piece and piece * HOUR, asked or (hosts(),), fingerprint=fingerprint)
    return use.make_flexible(world.service, caller, draft, key)


def pieces(world: World, placed: Placed) -> list[tuple[float, float]]:
    """Return where the leases of its request are now, in hours after `START`."""
    found = use.get_flexible(world.service, placed.lease.id).pieces
    return [((each.window.start - START) / HOUR, (each.window.end - START) / HOUR) for each in found]


def at(world: World, placed: Placed) -> tuple[float, float]:
    """Return where it is now, in hours after `START`."""
    window = get_lease(world.service, placed.lease.id).window
    return (window.start - START) / HOUR, (window.end - START) / HOUR
