"""How people's leases end, and what people change about them before: one entry of `ENDINGS` each.

An ending with `ahead` is for leases that are granted before they start, and is due between the two. Any other is due
after the start of the lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from bench.simulation.people import Held

SOON: Final = timedelta(minutes=10)
LEAST_RUN: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of some leases: `share` of a hundred of those that may end so.

    `when` returns the moment at which somebody acts, from the lease as granted or as started; None means never. `body`
    is what is sent to change the lease; without it, the lease is deleted.
    """

    name: str
    share: int
    when: Callable[[Held], datetime | None]
    body: Callable[[Held], Mapping[str, Any]] | None = None
    ahead: bool = False


def _never(_held: Held) -> datetime | None:
    return None


def _when_done(held: Held) -> datetime | None:
    """Return when the work is done; None if that is just before the end, or later."""
    done = held.start + max(timedelta(seconds=held.wish.ran), LEAST_RUN)
    return done if done < held.end - LEAST_RUN else None


def _before_end(held: Held) -> datetime | None:
    moment = held.end - SOON
    return moment if moment > held.start + LEAST_RUN else None


def _halfway(held: Held) -> datetime | None:
    return held.granted + (held.start - held.granted) / 2


def _now(_held: Held) -> Mapping[str, Any]:
    return {"end_date": "now"}


def _longer(held: Held) -> Mapping[str, Any]:
    return {"end_date": held.written(held.end + (held.end - held.start) / 2)}


def _later(held: Held) -> Mapping[str, Any]:
    """Return the window moved by a quarter of an hour."""
    by = timedelta(minutes=15)
    return {"start_date": held.written(held.start + by), "end_date": held.written(held.end + by)}


def _smaller(held: Held) -> Mapping[str, Any]:
    """Return what asks for half of it."""
    asked = held.wish.reservation
    names = ("amount",) if "amount" in asked else ("min", "max")
    changes = {name: -(-asked[name] // 2) for name in names}
    return {"reservations": [{"id": part, **changes} for part in held.parts]}


AS_PROMISED: Final = Ending("as promised", 28, _never)
ENDINGS: Final = (
    AS_PROMISED,
    Ending("ended early", 36, _when_done, _now),
    Ending("deleted while active", 12, _when_done),
    Ending("extended", 12, _before_end, _longer),
    Ending("moved", 5, _halfway, _later, ahead=True),
    Ending("halved", 4, _halfway, _smaller, ahead=True),
    Ending("cancelled", 3, _halfway, ahead=True),
)


def draw_ending(rng: random.Random, *, granted_ahead: bool) -> Ending:
    """Return how a lease will end; `granted_ahead` says that it is granted before it starts."""
    possible = [each for each in ENDINGS if granted_ahead or not each.ahead]
    (chosen,) = rng.choices(possible, weights=[each.share for each in possible])
    return chosen
