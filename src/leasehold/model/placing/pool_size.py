"""Which hosts the reservation pool needs: which shared ones to draw, and which to give back. Pure (feature F3)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.membership import Membership
from leasehold.model.placing.assignment import Assignment, cheapest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
class DrawCandidate:
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

    @property
    def comes(self) -> bool:
        """Say whether it is on its way, for anybody."""
        return self.membership is Membership.DRAWING and not self.held

    @property
    def drawable(self) -> bool:
        """Say whether it may be drawn."""
        return self.membership is Membership.SHARED and self.usable and not self.failed

    def may_leave(self, before: datetime) -> bool:
        """Say whether it may be given back: nothing at all is promised on it, and it came before this moment."""
        inside = self.membership is Membership.RESERVATION and self.usable and not self.held
        return inside and self.promised is None and (self.since is None or self.since <= before)


@dataclass(frozen=True, slots=True)
class Part:
    """So many hosts, at least, of these, by number: those that a reservation of a lease asks for."""

    hosts: int
    fitting: frozenset[int]


@dataclass(frozen=True, slots=True)
class HostNeed:
    """A lease that waits: the hosts that it needs in this window."""

    lease_id: str
    parts: tuple[Part, ...]
    window: Window

    @property
    def hosts(self) -> int:
        """How many hosts it needs."""
        return sum(part.hosts for part in self.parts)


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """The hosts to draw and to give back, those of the pool on which nothing is promised, and sentences that say why.

    `reasons` says it of single hosts, by number, without a full stop: of all that are named here.
    """

    draw: tuple[DrawCandidate, ...]
    give_back: tuple[DrawCandidate, ...]
    why: tuple[str, ...]
    idle: tuple[DrawCandidate, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)


def plan(
    hosts: Sequence[DrawCandidate], needs: Sequence[HostNeed], size: Size, ranked: Sequence[int], now: datetime
) -> PoolPlan:
    """Return what to do now; needs that begin later than the lead time have to wait.

    The needs are met in their order, each one completely or not at all: for one that cannot be met nothing is drawn.
    Then comes the floor. `ranked` are the numbers of the shared hosts, those to draw first come first.

    Only a host on which nothing at all is promised is given back, if no need and no floor wants it, and only when it
    was in the pool for the lead time: else one that was drawn for a lease would go before that lease is tried again.
    """
    return _PoolPlanning(
        hosts, [each for each in needs if each.window.start <= now + size.lead], size, now, ranked
    ).plan()


_NOT_NEEDED = "Nothing is promised on it, and no lease that waits needs it"
_TOO_FEW = "too few hosts that it asks for are free or can be drawn"


class _PoolPlanning:
    """One plan. A demand is a part of a need, or the floor.

    The `lasting` hosts are in the pool, or come, and stay whatever is decided; those of `leaving` may be given back.
    One that is kept although it could leave, and one that is drawn, take one of the `places` below the ceiling.
    """

    def __init__(
        self,
        hosts: Sequence[DrawCandidate],
        needs: Sequence[HostNeed],
        size: Size,
        now: datetime,
        ranked: Sequence[int],
    ) -> None:
        self._hosts, self._needs, self._size, self._now = hosts, needs, size, now
        self._inside = [each for each in hosts if each.membership in (Membership.RESERVATION, Membership.DRAWING)]
        leaving = {each.number for each in self._inside if each.may_leave(now - size.lead)}
        self._leaving = sorted(leaving)
        self._lasting = [each.number for each in sorted(self._inside, key=_soonest) if each.number not in leaving]
        drawable = {each.number for each in hosts if each.drawable}
        self._drawable = [number for number in ranked if number in drawable]
        self._places = len(hosts) if size.ceiling is None else size.ceiling - len(self._lasting)
        self._fits: dict[int, frozenset[int]] = {}
        self._wanted: Counter[int] = Counter()
        self._names: dict[int, str] = {}
        # Each set of hosts includes the one before it. The number of demands that it cannot serve is how many others
        # are needed at least: what takes a place beyond the first, what is drawn beyond the second.
        inside = {*self._lasting, *self._leaving}
        self._served = [Assignment(self._fits, set(among)) for among in (self._lasting, inside, inside | drawable)]

    def plan(self) -> PoolPlan:
        """Return the plan."""
        unmet = [need for need in self._needs if not self._meet(need)]
        floor = self._demand(f"The floor is {self._size.floor}", self._able(self._now + self._size.lead))
        self._fill(floor, self._size.floor)
        # What is in the pool already stays for needs that cannot be met yet: else it would be drawn again.
        for need in unmet:
            for key, part in self._demands(need):
                self._fill(key, part.hosts, draws=False)
        serves = cheapest([*self._lasting, *self._leaving, *self._drawable], self._fits, self._wanted)
        return self._told(serves, unmet, floor)

    def _meet(self, need: HostNeed) -> bool:
        """Meet a need completely, or change nothing."""
        before, wanted = [each.copy() for each in self._served], self._wanted.copy()
        for key, part in self._demands(need):
            for _ in range(part.hosts):
                if not self._add(key):
                    self._served, self._wanted = before, wanted
                    return False
        return True

    def _fill(self, demand: int, most: int, *, draws: bool = True) -> None:
        """Want as many hosts for a demand as there are, up to a number."""
        for _ in range(most):
            before = [each.copy() for each in self._served]
            if not self._add(demand, draws=draws):
                self._served = before
                return

    def _add(self, demand: int, *, draws: bool = True) -> bool:
        """Want one more host for a demand; False without one, or without a place below the ceiling.

        Then what is served has changed, and the caller takes it back.
        """
        lasting, inside, everywhere = [each.serve(demand) for each in self._served]
        taken = sum(self._wanted.values()) + 1 - self._served[0].many
        if not everywhere or not (draws or inside) or (not lasting and taken > self._places):
            return False
        self._wanted[demand] += 1
        return True

    def _demands(self, need: HostNeed) -> list[tuple[int, Part]]:
        able = self._able(need.window.end)
        return [(self._demand(f"Lease {need.lease_id} waits for it", able & part.fitting), part) for part in need.parts]

    def _demand(self, name: str, able: frozenset[int]) -> int:
        key = len(self._fits)
        self._fits[key], self._names[key] = able, name
        return key

    def _able(self, until: datetime) -> frozenset[int]:
        """Return the hosts that could serve until a moment."""
        return frozenset(each.number for each in self._hosts if each.free(until) or each.comes or each.drawable)

    def _told(self, serves: Mapping[int, int], unmet: Sequence[HostNeed], floor: int) -> PoolPlan:
        by_number = {each.number: each for each in self._hosts}
        draw = tuple(by_number[number] for number in self._drawable if number in serves)
        give_back = tuple(by_number[number] for number in reversed(self._leaving) if number not in serves)
        spare = [each for each in self._hosts if each.free(self._now + self._size.lead)]
        idle = tuple(each for each in spare if each.promised is None)
        beside = sum(serves.get(each.number, floor) == floor for each in spare)
        reasons = {
            **dict.fromkeys((each.number for each in idle), f"It has been in the pool for less than {self._seconds} s"),
            **{number: self._names[key] for number, key in serves.items()},
            **dict.fromkeys((each.number for each in give_back), _NOT_NEEDED),
        }
        return PoolPlan(draw, give_back, self._why(unmet, beside), idle, reasons)

    def _why(self, unmet: Sequence[HostNeed], beside: int) -> tuple[str, ...]:
        """Return the sentences of a plan; `beside` are the hosts that may stay free for the floor."""
        ceiling = "not set" if self._size.ceiling is None else self._size.ceiling
        coming = sum(each.comes for each in self._hosts)
        inside, within, floor = len(self._inside), self._seconds, self._size.floor
        return (
            f"Leases that wait: {len(self._needs)}; what {len(unmet)} of them ask for is not there or to be drawn.",
            f"Hosts beside those with nothing promised within {within} s: {beside}; the floor is {floor}.",
            f"Hosts of the reservation pool: {inside}, {coming} are on their way; the ceiling is {ceiling}.",
            *(f"Nothing is drawn for lease {need.lease_id}: it needs {need.hosts}, and {_TOO_FEW}." for need in unmet),
        )

    @property
    def _seconds(self) -> int:
        return int(self._size.lead.total_seconds())


def _soonest(host: DrawCandidate) -> tuple[bool, bool, datetime | None, int]:
    """Those with the soonest promise serve first, so that the others may leave; then those that come."""
    return host.comes, host.promised is None, host.promised, host.number
