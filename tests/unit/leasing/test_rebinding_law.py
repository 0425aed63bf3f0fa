"""The laws of late binding (decision 0057), on random pools of a few hosts, against a search by brute force.

The brute force knows hosts, windows and slots only, and none of the code under test.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.calendar.index import Calendar
from leasehold.leasing.deciding.decide import Asked, RefusedError, Terms, decide
from leasehold.leasing.deciding.rebinding_search import Reassignable, RoomMade, make_room
from leasehold.model.allocation import Allocation
from leasehold.model.budget import Budget
from leasehold.model.resource import HOST_POOL
from leasehold.model.terms.margins import Margins
from leasehold.resource_types.host.kind import HostKind
from leasehold.resource_types.instance.kind import InstanceKind
from tests.unit.calendar.oracle import Row, columns
from tests.unit.resource_types.pool import host, hours

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

pytestmark = pytest.mark.slow

CPUS = 4
CASES = 200
LEAST_FOUND = 0.85
"""The share to be found of the cases in which several leases have to move; of 500, 83 of 87 and 78 of 82 were."""


@dataclass(frozen=True)
class Wish:
    """What a reservation asks for: whole hosts (`slots` 0), or slots of a CPU each; of even hosts only if `even`."""

    start: int
    end: int
    amount: int = 1
    slots: bool = False
    affinity: bool | None = None
    even: bool = False

    @property
    def request(self) -> dict[str, Any]:
        even = '["==", "$even", "yes"]' if self.even else ""
        if not self.slots:
            return {"min": self.amount, "max": self.amount, "hypervisor_properties": "", "resource_properties": even}
        size = {"vcpus": 1, "memory_mb": 1, "disk_gb": 0}
        return {**size, "amount": self.amount, "affinity": self.affinity, "resource_properties": even}

    @property
    def kind(self) -> Any:
        return InstanceKind() if self.slots else HostKind()

    def placements(self, hosts: int) -> Iterator[Mapping[int, int]]:
        """Yield every way to have it, as slots by host; a whole host counts as all of its CPUs."""
        each = range(self.amount + 1) if self.slots else (0, 1)
        for shares in product(each, repeat=hosts):
            found = {number: share for number, share in enumerate(shares, 1) if share}
            if sum(shares) == self.amount and self.allows(found):
                yield found

    def allows(self, found: Mapping[int, int]) -> bool:
        if self.even and any(number % 2 for number in found):
            return False
        if not self.slots:
            return all(share == 1 for share in found.values())
        if self.affinity is True:
            return len(found) == 1
        return self.affinity is None or all(share == 1 for share in found.values())


@dataclass(frozen=True)
class Case:
    """A pool: what is there, each with its hosts, of which the first `fixed` may not move; and what is asked."""

    hosts: int
    there: Sequence[tuple[Wish, Mapping[int, int]]]
    fixed: int
    asked: Wish
    margin: int

    def fits(self, wish: Wish, found: Mapping[int, int], others: Sequence[tuple[Wish, Mapping[int, int]]]) -> bool:
        """Say whether a reservation has room beside others: at every hour, on every host, the cleaning time apart."""
        gap = self.margin
        for number, share in found.items():
            for hour in range(wish.start - gap, wish.end + gap):
                used = 0
                for other, has in others:
                    if number in has and other.start <= hour < other.end:
                        used += has[number] if other.slots else CPUS
                if used + (share if wish.slots else CPUS) > CPUS:
                    return False
        return True

    def consistent(self, there: Sequence[tuple[Wish, Mapping[int, int]]]) -> bool:
        return all(self.fits(wish, has, [*there[:at], *there[at + 1 :]]) for at, (wish, has) in enumerate(there))

    def fits_somewhere(self, wish: Wish, others: Sequence[tuple[Wish, Mapping[int, int]]]) -> bool:
        return any(self.fits(wish, found, others) for found in wish.placements(self.hosts))

    def by_one(self) -> bool:
        """Say whether moving one allocation to one other host makes room."""
        for at, (wish, has) in enumerate(self.there):
            if at < self.fixed:
                continue
            rest = [*self.there[:at], *self.there[at + 1 :]]
            for source, target in product(has, range(1, self.hosts + 1)):
                moved = Counter({number: share for number, share in has.items() if number != source})
                moved[target] += has[source]
                whole = source != target and wish.allows(moved) and self.fits(wish, moved, rest)
                if whole and self.fits_somewhere(self.asked, [*rest, (wish, moved)]):
                    return True
        return False

    def by_any(self) -> bool:
        """Say whether any new places for all that may move make room."""
        return self._placed([*self.there[: self.fixed]], [self.asked, *(wish for wish, _ in self.there[self.fixed :])])

    def _placed(self, there: list[tuple[Wish, Mapping[int, int]]], left: Sequence[Wish]) -> bool:
        if not left:
            return True
        for found in left[0].placements(self.hosts):
            after = [*there, (left[0], found)]
            if self.fits(left[0], found, there) and self._placed(after, left[1:]):
                return True
        return False


def random_wish(random: Random, *, slots: bool) -> Wish:
    start = random.randint(1, 6)
    end = start + random.randint(1, 4)
    even = random.random() < 0.2
    if not slots or random.random() < 0.5:
        return Wish(start, end, random.choice((1, 1, 1, 2)), even=even)
    affinity = random.choice((None, None, True, False))
    return Wish(start, end, random.randint(1, 3), slots=True, affinity=affinity, even=even)


def random_case(random: Random, *, slots: bool) -> Case | None:
    """Return a case in which what is asked does not fit as things are; None if it came out otherwise."""
    # The cleaning time of slots looks at what is there already, so that the order counts: it is left to whole hosts.
    hosts, margin = random.randint(2, 3), 0 if slots else random.choice((0, 0, 1))
    case = Case(hosts, (), 0, random_wish(random, slots=slots), margin)
    there: list[tuple[Wish, Mapping[int, int]]] = []
    for _ in range(random.randint(2, 5)):
        wish = random_wish(random, slots=slots)
        ways = [found for found in wish.placements(hosts) if case.fits(wish, found, there)]
        if ways:
            there.append((wish, random.choice(ways)))
    case = Case(hosts, there, random.choice((0, 0, 1)), case.asked, margin)
    return None if case.fits_somewhere(case.asked, there) else case


def searched(case: Case) -> RoomMade | None:
    """Let the code under test look for room."""
    calendar = Calendar(HOST_POOL)
    capacity = {"VCPU": CPUS, "MEMORY_MB": 100, "DISK_GB": 100}
    resources = [
        host(number, CPUS, capacity=capacity, properties={"even": "no" if number % 2 else "yes"})
        for number in range(1, case.hosts + 1)
    ]
    rows: list[Row] = []
    movable: list[Reassignable] = []
    for at, (wish, has) in enumerate(case.there):
        kind, request = wish.kind, wish.kind.parse(wish.request)
        window, ident = hours(wish.start, wish.end), f"00000000-0000-0000-0000-0000000000{at:02}"
        demand = request.demand if wish.slots else None
        held = tuple(
            Allocation(len(rows) + more, ident, f"lease-{at}", HOST_POOL, number, window, share, demand)
            for more, (number, share) in enumerate(sorted(has.items()), 1)
        )
        start, end = window.seconds
        rows += [
            Row(each.id, each.resource_number, start, end, each.slots, demand, ident, released=False) for each in held
        ]
        if at >= case.fixed:
            movable.append(Reassignable(ident, f"lease-{at}", kind, request, held))
    calendar.update(1, resources, columns(rows))
    snapshots = {HOST_POOL: calendar.snapshot(hours(0, 1).start)}
    window = hours(case.asked.start, case.asked.end)
    asked = [Asked(case.asked.kind, case.asked.kind.parse(case.asked.request))]
    terms = Terms(window, window.duration, Margins(timedelta(hours=case.margin)), Budget(60, lambda: 0.0))
    with pytest.raises(RefusedError):
        decide(snapshots, asked, terms)
    return make_room(snapshots, asked, terms, HOST_POOL, movable)


def check_room(case: Case, room: RoomMade) -> None:
    """Check that nothing is promised twice, and that everybody has what was asked for, as far apart as it has to be."""
    after = list(case.there)
    for move in room.moves:
        at = int(move.of.id[-2:])
        assert at >= case.fixed
        has: Counter[int] = Counter()
        for pick in move.picks:
            has[pick.resource_number] += pick.slots
        wish = case.there[at][0]
        assert sum(has.values()) == wish.amount
        assert wish.allows(has)
        assert has != Counter(case.there[at][1])
        after[at] = (wish, has)
    assert room.moves
    (picks,) = room.picks
    chosen = {pick.resource_number: pick.slots for pick in picks}
    assert sum(chosen.values()) == case.asked.amount
    assert case.asked.allows(chosen)
    assert case.consistent([*after, (case.asked, chosen)])


@pytest.mark.parametrize("slots", [False, True])
def test_one_move_is_always_found_and_several_nearly_always(slots: bool) -> None:  # noqa: FBT001 - a case
    random = Random(57)  # noqa: S311 - the same cases every time
    cases, counts = 0, Counter[str]()
    while cases < CASES:
        case = random_case(random, slots=slots)
        if case is None or not case.by_any():
            # What no moves make possible has to stay refused, and is the rest of the cases.
            if case is not None and cases % 5 == 0:
                assert searched(case) is None, case
            continue
        cases += 1
        room = searched(case)
        if case.by_one():
            counts["one"] += 1
            assert room is not None, case
        else:
            counts["several"] += 1
            counts["several found"] += room is not None
        if room is not None:
            check_room(case, room)
    assert counts["one"] > CASES / 2
    assert counts["several"] > CASES / 20
    assert counts["several found"] >= LEAST_FOUND * counts["several"], counts
