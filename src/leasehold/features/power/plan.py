"""Which machines to wake, and which may sleep: pure functions of what is promised, and of when each was used last."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.features.power.model import Stage
from leasehold.model.windows import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

_UNDER_WAY = frozenset({Stage.CLOSING, Stage.STOPPING, Stage.WAKING})
_RESTING = frozenset({Stage.CLOSING, Stage.STOPPING, Stage.ASLEEP})


@dataclass(frozen=True, slots=True)
class Conditions:
    """When machines may sleep.

    A host has to be idle for `idle`, on for `least_on`, and needed no sooner than `least_off` after it could be ready.
    `spares` idle hosts of each group stay on; `at_once` machines are under way at most, and looked at `every` so often.
    """

    idle: timedelta
    least_on: timedelta
    least_off: timedelta
    spares: int
    at_once: int
    every: timedelta


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host whose machine may be switched.

    It `takes` so long to wake up. `next_start` is when something is promised on it next, None: nothing is. Nobody uses
    it since `idle_since`, None: somebody does; and it is on since `on_since`. `able` says that it may sleep as far as
    its own state goes; `group` are the values by which spares are counted. One in `trouble` was switched on twice, or
    cannot be: it is not `switchable`. One that is `wanted` would be a waiting lease's if it were on.
    """

    number: int
    stage: Stage
    takes: timedelta
    group: tuple[str, ...]
    able: bool = True
    next_start: datetime | None = None
    idle_since: datetime | None = None
    on_since: datetime | None = None
    trouble: bool = False
    switchable: bool = True
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The hosts to wake now, those first that are needed first, and the hosts to put to sleep, by number."""

    wake: Sequence[int]
    sleep: Sequence[int]


def plan(hosts: Sequence[Candidate], conditions: Conditions, now: datetime, *, may_sleep: bool) -> Plan:
    """Return what to do now; without `may_sleep`, as in hours when nothing sleeps, nothing is put to sleep."""
    free = conditions.at_once - sum(each.stage in _UNDER_WAY for each in hosts)
    due = [each.number for each in _due(hosts, conditions, now)]
    due += [number for number in _more(hosts, conditions, now, spares=0) if number not in due]
    wanted = [each.number for each in hosts if each.wanted and each.switchable and each.stage in _RESTING]
    wake = list(dict.fromkeys([*due, *wanted, *_more(hosts, conditions, now, conditions.spares)]))
    # A start waits for nothing: what is due is woken, however many machines are under way.
    room = max(0, free - len(due))
    wake = wake[: len(due) + room]
    room -= len(wake) - len(due)
    sleep = [each.number for each in _sleepy(hosts, conditions, now)] if may_sleep and not wake else []
    return Plan(wake, sleep[: max(0, room)])


def ahead(takes: timedelta, place: int, conditions: Conditions) -> timedelta:
    """Return how long before a start a machine is woken, if `place` others are needed before it.

    It may fail once and be switched again, and then another host still gets the lease before its start, which takes
    some rounds. So many as are switched at once take one round.
    """
    return 2 * takes + conditions.every * (6 + place // conditions.at_once)


def _due(hosts: Iterable[Candidate], conditions: Conditions, now: datetime) -> Iterator[Candidate]:
    """Yield the hosts whose starts come soon, soonest first; before all those that somebody has already."""
    needed = [each for each in hosts if each.stage in _RESTING]
    starts = ((EPOCH if each.idle_since is None else each.next_start, each.number, each) for each in needed)
    promised = sorted((start, number, each) for start, number, each in starts if start is not None)
    for place, (start, _, each) in enumerate(promised):
        if start - ahead(each.takes, place, conditions) <= now:
            yield each


def _asleep(hosts: Iterable[Candidate]) -> Sequence[Candidate]:
    """Return the hosts that could be woken; one that cannot is only if it is needed, so that it fails in time."""
    return [each for each in hosts if each.stage is Stage.ASLEEP and each.switchable]


def _free(each: Candidate, conditions: Conditions, now: datetime) -> bool:
    """Say whether nothing needs a host before it could have slept."""
    if each.wanted:
        return False
    soon = now + ahead(each.takes, 0, conditions) + conditions.least_off
    return each.next_start is None or each.next_start >= soon


def _stands_by(each: Candidate, conditions: Conditions, now: datetime) -> bool:
    """Say whether a host is on and could be used now: nobody does, or needs it soon."""
    idle = each.stage is Stage.ON and each.able and each.idle_since is not None
    return idle and _free(each, conditions, now)


def _standing_by(
    hosts: Iterable[Candidate], conditions: Conditions, now: datetime
) -> Mapping[tuple[str, ...], list[Candidate]]:
    found: dict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for each in hosts:
        if _stands_by(each, conditions, now):
            found[each.group].append(each)
    return found


def _coming(hosts: Iterable[Candidate], conditions: Conditions, now: datetime) -> Sequence[Candidate]:
    """Return the hosts that will stand by when they are awake."""
    return [each for each in hosts if each.stage is Stage.WAKING and not each.trouble and _free(each, conditions, now)]


def _more(hosts: Sequence[Candidate], conditions: Conditions, now: datetime, spares: int) -> Iterator[int]:
    """Yield the hosts to wake because fewer of their group stand by than wanted; those that are waking count.

    One stands by for each that is in trouble: it is awake when that has failed.
    """
    standing = _standing_by(hosts, conditions, now)
    waking = _coming(hosts, conditions, now)
    asleep = sorted(_asleep(hosts), key=lambda each: each.number)
    for group in sorted({each.group for each in asleep}):
        there = len(standing.get(group, ())) + sum(each.group == group for each in waking)
        trouble = sum(each.trouble and each.group == group for each in hosts)
        mine = [each.number for each in asleep if each.group == group and _free(each, conditions, now)]
        yield from mine[: max(0, spares + trouble - there)]


def _sleepy(hosts: Sequence[Candidate], conditions: Conditions, now: datetime) -> Iterator[Candidate]:
    """Yield the hosts that may sleep, those first that are needed last; the first of each group by number stay on."""
    for group in _standing_by(hosts, conditions, now).values():
        by_need = sorted(group, key=lambda each: (_need(each), -each.number))
        for each in by_need[: max(0, len(group) - conditions.spares)]:
            on_since, idle_since = each.on_since or EPOCH, each.idle_since or now
            if now - max(idle_since, on_since) >= conditions.idle and now - on_since >= conditions.least_on:
                yield each


def _need(each: Candidate) -> tuple[bool, timedelta]:
    """Return what orders hosts by when something is promised on them, last first."""
    if each.next_start is None:
        return False, timedelta(0)
    return True, -(each.next_start - EPOCH)
