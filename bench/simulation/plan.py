"""From a trace to what people ask for: the type of each lease, its resources, its dates, and how it will end.

Everything follows from the job and the seed, so the same trace and seed give the same wishes. A further type of lease
is an entry of `WAYS`, with how many of a hundred requests are of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from bench.deployment import HOST, INSTANCE
from bench.simulation.endings import Ending, draw_ending
from leasehold.features.flexible.model import Strategy
from leasehold.model.terms.end_action import EndAction
from leasehold.model.terms.ending import OnEnd
from leasehold.model.terms.lease_type import LeaseType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bench.replay import Ask

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 24 * HOUR
SHORTEST: Final = 5 * MINUTE
"""No lease is shorter: jobs of some seconds would be over before their people have booted a server."""
PROJECTS: Final = 12
LEADS: Final = (HOUR, 6 * HOUR, DAY, 2 * DAY)
"""How long before their start people book scheduled leases."""
SMALL: Final = 2
"""Jobs of so many hosts may as well run on instances, or come every day."""
SERIES: Final = "series"
FLEXIBLE: Final = "flexible"
CLAIM: Final = "claim"
SLACKS: Final = (6 * HOUR, 12 * HOUR, DAY, 2 * DAY)
"""How much later than they asked for people may begin who are flexible, and have set no deadline."""
RULES: Final = ("FREQ=DAILY;COUNT=4", "FREQ=WEEKLY;COUNT=3")
BROAD: Final = 24
"""Courses and other series take at most so many hosts."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for at a moment, in seconds of the trace.

    The lease starts `lead` seconds later, or, without one, `now`; it lasts `length` seconds. `ran` is how long the work
    takes for which it is made. `fields` are further fields of the request, `deadline` counts from the moment. A lease
    with `slack` may start so much later. Whoever does not come boots no server. Servers that are given back with
    their host are deleted `stay` seconds after the end.
    """

    job: int
    user: int
    way: str
    moment: int
    length: int
    ran: int
    reservation: Mapping[str, Any]
    ending: Ending
    lead: int | None = None
    deadline: int | None = None
    slack: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    comes: bool = True
    stay: int = 0

    @property
    def gives_back(self) -> bool:
        """Whether its hosts leave the reservation pool with their servers, which only administrators may ask for."""
        return self.reservation.get("on_end") == OnEnd.GIVE_BACK

    @property
    def project(self) -> str:
        """The project of the user, who is always in the same."""
        return f"project-{self.user % PROJECTS}"

    @property
    def is_series(self) -> bool:
        """Whether it is a recurrence rule that is asked for, instead of one lease."""
        return self.way == SERIES


@dataclass(frozen=True, slots=True)
class Way:
    """A way to get a lease: how many of a hundred requests go it, and what it adds to a wish."""

    share: int
    add: Callable[[random.Random], Mapping[str, Any]]


def _ahead(rng: random.Random) -> int:
    return rng.choice(LEADS) + rng.randrange(30 * MINUTE)


def _scheduled(rng: random.Random) -> Mapping[str, Any]:
    return {"lead": _ahead(rng)}


def _immediate(_rng: random.Random) -> Mapping[str, Any]:
    return {"fields": {"type": LeaseType.IMMEDIATE.value}}


def _retry(rng: random.Random) -> Mapping[str, Any]:
    fields = {"type": LeaseType.RETRY.value, "retries": rng.randint(3, 12), "retry_seconds": rng.randint(60, 300)}
    return {"fields": fields}


def _waitlist(rng: random.Random) -> Mapping[str, Any]:
    return {"fields": {"type": LeaseType.WAITLIST.value}, "deadline": rng.randint(2, 36) * HOUR}


def _best_effort(rng: random.Random) -> Mapping[str, Any]:
    """Return what it adds to have shared hosts drawn: a deadline, or none, which is that of the configuration."""
    fields = {"fields": {"type": LeaseType.BEST_EFFORT.value}}
    return fields if rng.random() < 0.3 else {**fields, "deadline": rng.randint(20, 180) * MINUTE}


def _series(rng: random.Random) -> Mapping[str, Any]:
    return {"lead": _ahead(rng), "fields": {"rule": rng.choice(RULES)}}


WAYS: Final[Mapping[str, Way]] = {
    LeaseType.SCHEDULED.value: Way(31, _scheduled),
    LeaseType.IMMEDIATE.value: Way(23, _immediate),
    LeaseType.RETRY.value: Way(18, _retry),
    LeaseType.WAITLIST.value: Way(18, _waitlist),
    LeaseType.BEST_EFFORT.value: Way(8, _best_effort),
    SERIES: Way(2, _series),
}
"""By the word for it in reports; the shares add up to a hundred."""
AFTERWARDS: Final[Mapping[str, tuple[int, Mapping[str, Any]]]] = {
    "deleted": (60, {}),
    "imaged": (6, {"before_end": EndAction.SNAPSHOT.value}),
    "grace": (14, {"grace_seconds": 15 * MINUTE}),
    "recycled": (14, {"on_end": OnEnd.RECYCLE.value, "grace_seconds": 5 * MINUTE, "recycle_seconds": HOUR}),
    "given back": (6, {"on_end": OnEnd.GIVE_BACK.value}),
}
"""What becomes of servers at the end of a lease: of a hundred leases so many, and the keys of their reservation."""
NO_SHOWS: Final = 0.12
"""The share of leases that release what is not used; half of their owners do not come at all."""


MAY_BE_LOOSE: Final = frozenset({LeaseType.SCHEDULED.value, LeaseType.RETRY.value, LeaseType.WAITLIST.value})
"""Who asks so may as well ask for a flexible lease; the others need their hosts now, or regularly."""


def plan(asks: Iterable[tuple[Ask, int]], seed: int, loose: float = 0.0) -> Iterator[Wish]:
    """Yield the wishes of jobs, each with how long it ran, in the order of the jobs.

    Of those who may be flexible a share of `loose` is, chosen by the seed, and all else is the same.
    """
    for ask, ran in asks:
        wish = _wish(ask, ran, random.Random(f"{seed}-{ask.job}"))
        yield _loosened(wish, random.Random(f"flexible-{seed}-{ask.job}"), loose)


def _loosened(wish: Wish, rng: random.Random, loose: float) -> Wish:
    """Return the wish for a flexible lease: from when it was to start, or from now, until what was its deadline."""
    if wish.way not in MAY_BE_LOOSE or rng.random() >= loose:
        return wish
    slack = rng.choice(SLACKS) if wish.deadline is None else wish.deadline
    fields = {"strategy": rng.choice(list(Strategy)).value}
    return replace(wish, way=FLEXIBLE, deadline=None, slack=slack, fields=fields)


def _wish(ask: Ask, ran: int, rng: random.Random) -> Wish:
    (way,) = rng.choices(list(WAYS), weights=[each.share for each in WAYS.values()])
    length = max(ask.length, SHORTEST)
    hosts = min(ask.hosts, BROAD) if way == SERIES else ask.hosts
    watched, comes = _no_show(rng)
    return Wish(
        job=ask.job,
        user=ask.user,
        way=way,
        moment=ask.start,
        length=length,
        ran=min(max(ran, SHORTEST // 2), length),
        reservation={**(asked := _reservation(hosts, rng)), **_afterwards(rng, asked), **watched},
        ending=draw_ending(rng, granted_ahead="lead" in (added := WAYS[way].add(rng))),
        comes=comes,
        stay=rng.randrange(12 * HOUR),
        **added,
    )


def _reservation(hosts: int, rng: random.Random) -> Mapping[str, Any]:
    """Return what a job of this size runs on: whole hosts, or for some small ones instances."""
    if hosts <= SMALL and rng.random() < 0.3:
        return {**INSTANCE, "amount": rng.randint(1, 8 * hosts)}
    least = max(1, hosts - hosts // 4) if rng.random() < 0.3 else hosts
    return {**HOST, "min": least, "max": hosts}


def _afterwards(rng: random.Random, reservation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how long the servers of a job may outlive its lease: mostly not at all."""
    (chosen,) = rng.choices(list(AFTERWARDS), weights=[share for share, _ in AFTERWARDS.values()])
    keys = AFTERWARDS[chosen][1]
    whole = reservation["resource_type"] == HOST["resource_type"]
    return keys if whole or keys.get("on_end") != OnEnd.GIVE_BACK else {}


def _no_show(rng: random.Random) -> tuple[Mapping[str, Any], bool]:
    """Return the keys of a reservation that releases what is not used, if so, and whether its owner comes."""
    seconds, watched, comes = rng.randint(10, 40) * MINUTE, rng.random() < NO_SHOWS, rng.random() < 0.5
    return ({"no_show_seconds": seconds}, comes) if watched else ({}, True)
