"""How many hosts the reservation pool needs: which shared ones to draw, and which to give back. Pure (feature F3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Size:
    """What operators want of the reservation pool.

    `floor` hosts have nothing promised within `lead`, which is the time that a draw needs. No host is drawn beyond
    `ceiling`, which counts all hosts of the pool; None means no limit.
    """

    floor: int
    ceiling: int | None
    lead: timedelta


NO_SIZE = Size(0, None, timedelta(hours=1))
"""Only for the leases that wait."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host that may move.

    `usable` says that it works and is not disabled. `since` is when it came to where it is, None if it was there at
    first. `promised` is when the first promise on it begins, None without any. `servers` would have to move if it were
    drawn; `failed` says that its last draw has failed, not long ago. `held` says that it is there, or comes, for one
    best-effort lease alone.
    """

    number: int
    label: str
    membership: Membership
    usable: bool
    since: datetime | None = None
    promised: datetime | None = None
    servers: int = 0
    failed: bool = False
    held: bool = False

    def free(self, until: datetime) -> bool:
        """Say whether it can be used, and nothing is promised on it before that moment."""
        inside = self.membership is Membership.RESERVATION and self.usable and not self.held
        return inside and (self.promised is None or self.promised >= until)


@dataclass(frozen=True, slots=True)
class Need:
    """A lease that waits: so many hosts, at least, in this window."""

    lease_id: str
    hosts: int
    window: Window


@dataclass(frozen=True, slots=True)
class Plan:
    """The hosts to draw and to give back, and sentences that say why."""

    draw: tuple[Candidate, ...]
    give_back: tuple[Candidate, ...]
    why: tuple[str, ...]


def plan(hosts: Sequence[Candidate], needs: Sequence[Need], size: Size, now: datetime) -> Plan:
    """Return what to do now; needs that begin later than the lead time have to wait. Never both draws and gives back.

    The hosts from which the fewest servers have to move are drawn first. Only a host on which nothing at all is
    promised is given back, and only when it was in the pool for the lead time: else one that was drawn for a lease
    would go before that lease is tried again.
    """
    needs = [each for each in needs if each.window.start <= now + size.lead]
    lacking, left = _lacking(hosts, needs)
    spare = [each for each in left if each.free(now + size.lead)]
    coming = sum(each.membership is Membership.DRAWING and not each.held for each in hosts)
    inside = sum(each.membership in (Membership.DRAWING, Membership.RESERVATION) for each in hosts)
    why = _why(len(needs), lacking, len(spare), coming, inside, size)
    missing = lacking + max(0, size.floor - len(spare)) - coming
    beyond = 0 if size.ceiling is None else inside - size.ceiling
    if missing > 0 and (size.ceiling is None or beyond < 0):
        chosen = _to_draw(hosts)[: missing if size.ceiling is None else min(missing, -beyond)]
        return Plan(tuple(chosen), (), why)
    surplus = 0 if lacking else len(spare) - size.floor
    going = [each for each in spare if each.promised is None and (each.since is None or each.since + size.lead <= now)]
    last_first = sorted(going, key=lambda each: -each.number)
    return Plan((), tuple(last_first[: max(surplus, beyond, 0)]), why)


def _why(needs: int, lacking: int, spare: int, coming: int, inside: int, size: Size) -> tuple[str, ...]:
    seconds, ceiling = int(size.lead.total_seconds()), "not set" if size.ceiling is None else size.ceiling
    return (
        f"Leases that wait: {needs}; they lack {lacking} hosts.",
        f"Hosts beside those with nothing promised within {seconds} s: {spare}; the floor is {size.floor}.",
        f"Hosts of the reservation pool: {inside}, {coming} of them on their way; the ceiling is {ceiling}.",
    )


def _lacking(hosts: Sequence[Candidate], needs: Sequence[Need]) -> tuple[int, list[Candidate]]:
    """Return how many hosts the needs lack, and the hosts that no need takes; the soonest promised are taken first."""
    lacking, left = 0, sorted(hosts, key=lambda each: (each.promised is None, each.promised, each.number))
    for need in needs:
        taken = [each for each in left if each.free(need.window.end)][: need.hosts]
        lacking += need.hosts - len(taken)
        left = [each for each in left if each not in taken]
    return lacking, left


def _to_draw(hosts: Sequence[Candidate]) -> list[Candidate]:
    found = [each for each in hosts if each.membership is Membership.SHARED and each.usable and not each.failed]
    return sorted(found, key=lambda each: (each.servers, each.number))
