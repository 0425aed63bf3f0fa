"""Judges the decisions of a system by brute force: it counts, quarter by quarter, which hosts are free.

The hosts that a system has chosen are taken as it shows them; no code of the service, and none of Slurm, is used.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from bench.peers.workload import QUARTER, Creation, Deletion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.peers.peer import Held
    from bench.peers.workload import Amendment, Change


class Verdict(Enum):
    """What brute force says of a decision."""

    GRANTED = "granted, and hosts were free"
    MADE_ROOM = "granted, with other reservations on other hosts than before"
    REFUSED = "refused, and no order of the reservations has room"
    NOT_MOVED = "refused, although reservations that have not begun could make room"
    NOT_FREE = "refused, although enough hosts were free"
    FEWER = "granted, with fewer hosts than asked for"
    BROKEN = "wrong: a host given twice, or something else than what was asked"


def judge(
    change: Change, before: Mapping[str, Held], after: Mapping[str, Held], hosts: int, *, granted: bool
) -> Verdict:
    """Return the verdict on an answer; `before` and `after` are what the system showed around it."""
    if not is_sound(after, hosts) or not _is_as_told(change, before, after, granted=granted):
        return Verdict.BROKEN
    if isinstance(change, Deletion):
        return Verdict.GRANTED
    name, count, start, end = _wanted(change, before)
    others = {key: held for key, held in before.items() if key != name}
    free = hosts - len(set().union(*(held.hosts for held in others.values() if held.start < end and start < held.end)))
    if granted and len(after[name].hosts) < count:
        return Verdict.FEWER
    if granted:
        return Verdict.GRANTED if free >= count else Verdict.MADE_ROOM
    if free >= count:
        return Verdict.NOT_FREE
    return Verdict.NOT_MOVED if _fits(others, count, start, end, hosts) else Verdict.REFUSED


def is_sound(held: Mapping[str, Held], hosts: int) -> bool:
    """Return whether every host is one of these, and belongs to one reservation at a time."""
    taken: set[tuple[int, int]] = set()
    for each in held.values():
        for moment in _moments(each.start, each.end):
            for host in each.hosts:
                if not 0 <= host < hosts or (host, moment) in taken:
                    return False
                taken.add((host, moment))
    return True


def _wanted(change: Creation | Amendment, before: Mapping[str, Held]) -> tuple[str, int, int, int]:
    if isinstance(change, Creation):
        booking = change.booking
        return booking.name, booking.hosts, booking.start, booking.end
    held = before[change.name]
    return change.name, len(held.hosts), held.start, change.end


def _is_as_told(change: Change, before: Mapping[str, Held], after: Mapping[str, Held], *, granted: bool) -> bool:
    """Return whether nothing changed but what was granted: on other hosts as well, and on fewer than asked for."""
    if not granted:
        return before == after
    expected, found = ({name: _size(held) for name, held in each.items()} for each in (before, after))
    if isinstance(change, Deletion):
        del expected[change.name]
        return expected == found
    name, count, start, end = _wanted(change, before)
    has = found.pop(name, (0, 0, 0))
    expected.pop(name, None)
    return expected == found and 0 < has[0] <= count and has[1:] == (start, end)


def _size(held: Held) -> tuple[int, int, int]:
    return len(held.hosts), held.start, held.end


def _fits(others: Mapping[str, Held], count: int, start: int, end: int, hosts: int) -> bool:
    """Return whether the hosts suffice at every moment: then there is an order of equal hosts that has room for all."""
    return all(
        count + sum(len(held.hosts) for held in others.values() if held.start <= moment < held.end) <= hosts
        for moment in _moments(start, end)
    )


def _moments(start: int, end: int) -> Iterator[int]:
    return iter(range(start, end, QUARTER))
