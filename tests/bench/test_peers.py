"""The pure parts of the comparison with Slurm: the C header, the lists of nodes, the workload, the oracle, the page."""

from __future__ import annotations

import ctypes
import os
import time
from collections import Counter
from contextlib import nullcontext
from functools import partial
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.peers.decisions import WRONG
from bench.peers.decisions import rows as decision_rows
from bench.peers.gap import first_gap
from bench.peers.header import HeaderError, structure
from bench.peers.kills import Loss
from bench.peers.measure import OPERATIONS, Sample, Turn, at_once, measure, processor_seconds
from bench.peers.nodes import numbers
from bench.peers.oracle import Verdict, is_sound, judge
from bench.peers.page import BLAZAR, SPREAD, tables
from bench.peers.peer import Asked, Booking, Held, Window
from bench.peers.workload import (
    DAY,
    DAYS,
    HOSTS,
    MOST_HOSTS,
    QUARTER,
    Amendment,
    Creation,
    Deletion,
    bookings,
    changes,
    existing,
)
from bench.row import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER = """
typedef struct { unsigned char type; unsigned char hash[32]; } slurm_hash_t;
typedef struct other { int x; } other_t;
typedef struct some {
\tchar *name;\t/* a name; with a semicolon
\t\t\t * on two lines */
\tuint16_t small; uint32_t *counts;
\tslurm_hash_t hash; char **names;
\tList list;
\ttime_t  start;
} some_t;
"""
BEGIN = 1_900_000_000 // DAY * DAY


# The header.


def test_a_structure_has_the_layout_that_a_compiler_gives_it() -> None:
    some = structure(HEADER, "some_t")
    places = {
        name: getattr(some, name).offset for name in ("name", "small", "counts", "hash", "names", "list", "start")
    }
    assert places == {"name": 0, "small": 8, "counts": 16, "hash": 24, "names": 64, "list": 72, "start": 80}
    assert ctypes.sizeof(some) == 88
    assert some(name=b"x", start=BEGIN).name == b"x"


@pytest.mark.parametrize("name", ["absent_t", "strange_t"])
def test_what_is_not_understood_in_a_header_is_an_error(name: str) -> None:
    with pytest.raises(HeaderError):
        structure(HEADER + "typedef struct strange { int (*call)(void); } strange_t;", name)


# Lists of nodes.


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", set()), ("n7", {7}), ("n[0-2,5]", {0, 1, 2, 5}), ("n1,n[3-4],n9", {1, 3, 4, 9}), ("n[10-11]", {10, 11})],
)
def test_a_list_of_nodes_is_a_set_of_numbers(text: str, expected: set[int]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize("text", ["m1", "n", "n[1-2", "n1n2"])
def test_another_list_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no list of nodes"):
        numbers(text)


# The workload.


@pytest.mark.parametrize("count", [10, 1_000, 5_000])
def test_existing_reservations_do_not_overlap_and_leave_room_for_all_that_are_asked_for(count: int) -> None:
    held = existing(7, count, BEGIN)
    by_host: dict[int, list[Held]] = {}
    for each in held.values():
        (host,) = each.hosts
        by_host.setdefault(host, []).append(each)
    assert len(held) == count
    for found in by_host.values():
        assert all(one.end <= other.start for one, other in pairwise(found))
    busy = sum(each.end - each.start for each in held.values()) / (HOSTS * DAYS * DAY)
    assert busy < 0.5
    assert list(held) == [f"filled-{number}" for number in range(count)]


def test_the_same_seed_asks_for_the_same() -> None:
    assert bookings(7, "a", 50, BEGIN) == bookings(7, "a", 50, BEGIN) != bookings(8, "a", 50, BEGIN)
    assert changes(7, 50, 8, BEGIN) == changes(7, 50, 8, BEGIN) != changes(8, 50, 8, BEGIN)
    for each in bookings(7, "a", 200, BEGIN):
        assert BEGIN <= each.start < each.end <= BEGIN + DAYS * DAY
        assert 1 <= each.hosts <= MOST_HOSTS
        assert not each.start % 60
        assert not each.end % 60


# The oracle.


def held(start: int, end: int, *hosts: int) -> Held:
    return Held(frozenset(hosts), start * QUARTER, end * QUARTER)


def creation(hosts: int, start: int, end: int) -> Creation:
    return Creation(Booking("new", hosts, start * QUARTER, end * QUARTER))


THREE = {"a": held(0, 4, 0), "b": held(4, 8, 1)}
"""Of three hosts each has one; with both on the same host two would be free for all of the time."""


@pytest.mark.parametrize(
    ("change", "after", "verdict"),
    [
        (creation(1, 0, 8), THREE | {"new": held(0, 8, 2)}, Verdict.GRANTED),
        (creation(2, 0, 4), THREE | {"new": held(0, 4, 1, 2)}, Verdict.GRANTED),
        (creation(2, 0, 8), {"a": held(0, 4, 0), "b": held(4, 8, 0), "new": held(0, 8, 1, 2)}, Verdict.MADE_ROOM),
        (creation(2, 0, 8), THREE, Verdict.NOT_MOVED),
        (creation(3, 0, 8), THREE, Verdict.REFUSED),
        (creation(1, 0, 8), THREE, Verdict.NOT_FREE),
        (creation(3, 8, 9), THREE, Verdict.NOT_FREE),
        (creation(2, 0, 8), THREE | {"new": held(0, 8, 2)}, Verdict.FEWER),
        (creation(1, 0, 8), THREE | {"new": held(0, 8, 1)}, Verdict.BROKEN),
        (creation(1, 0, 8), THREE | {"new": held(0, 7, 2)}, Verdict.BROKEN),
        (creation(1, 0, 8), THREE | {"new": held(0, 8, 3)}, Verdict.BROKEN),
        (creation(1, 0, 8), {"a": held(0, 4, 0), "new": held(0, 8, 2)}, Verdict.BROKEN),
        (Amendment("a", 8 * QUARTER), {"a": held(0, 8, 0), "b": held(4, 8, 1)}, Verdict.GRANTED),
        (Amendment("a", 8 * QUARTER), {"a": held(0, 8, 2), "b": held(4, 8, 1)}, Verdict.GRANTED),
        (Amendment("a", 8 * QUARTER), THREE, Verdict.NOT_FREE),
        (Deletion("a"), {"b": held(4, 8, 1)}, Verdict.GRANTED),
        (Deletion("a"), {}, Verdict.BROKEN),
    ],
)
def test_brute_force_knows_what_is_right(change: Any, after: Mapping[str, Held], verdict: Verdict) -> None:
    assert judge(change, THREE, after, 3, granted=after != THREE) is verdict


def test_a_refusal_that_changes_something_is_wrong() -> None:
    assert judge(creation(3, 0, 8), THREE, {"a": held(0, 4, 0)}, 3, granted=False) is Verdict.BROKEN


WINDOWS = st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, 2))


@given(st.lists(WINDOWS, max_size=6))
def test_reservations_are_sound_when_no_two_of_a_host_overlap(windows: list[tuple[int, int, int]]) -> None:
    all_of_them = {str(n): held(start, start + length, host) for n, (start, length, host) in enumerate(windows)}
    overlap = any(
        one.hosts & other.hosts and one.start < other.end and other.start < one.end
        for one, other in combinations(all_of_them.values(), 2)
    )
    assert is_sound(all_of_them, 3) is not overlap


@given(st.lists(WINDOWS, max_size=4), st.integers(1, 3), WINDOWS)
def test_a_refusal_is_right_when_no_placement_has_room(
    windows: list[tuple[int, int, int]], hosts: int, wanted: tuple[int, int, int]
) -> None:
    """Compared with all placements, one after the other: of the other reservations too, as if none had begun."""
    before: dict[str, Held] = {}
    for number, (start, length, host) in enumerate(windows):
        more = before | {str(number): held(start, start + length, host)}
        before = more if is_sound(more, 3) else before
    change = creation(hosts, wanted[0], wanted[0] + wanted[1])
    verdict = judge(change, before, before, 3, granted=False)
    own = change.booking

    def placements(rest: list[Held], placed: dict[str, Held]) -> bool:
        if not is_sound(placed, 3):
            return False
        if not rest:
            return any(
                is_sound(placed | {"new": Held(frozenset(chosen), own.start, own.end)}, 3)
                for chosen in combinations(range(3), hosts)
            )
        first, *others = rest
        return any(
            placements(others, placed | {str(len(placed)): Held(frozenset([host]), first.start, first.end)})
            for host in range(3)
        )

    assert (verdict is Verdict.REFUSED) is not placements(list(before.values()), {})


# What is measured.


@given(st.lists(WINDOWS, max_size=6), st.integers(0, 8), st.integers(1, 4))
def test_the_first_gap_is_the_first_moment_that_no_reservation_overlaps(
    windows: list[tuple[int, int, int]], after: int, length: int
) -> None:
    table = np.array([(start, start + more) for start, more, _ in windows], np.int64).reshape(-1, 2)
    expected = next(
        moment
        for moment in range(after, 30)
        if all(end <= moment or moment + length <= start for start, end in table.tolist())
    )
    assert first_gap(table[:, 0], table[:, 1], Window(3, after, length)) == expected


class Memory:
    """A system in memory that answers at once; `wrong` is the kind of request to which its answers differ."""

    def __init__(self, name: str, wrong: str = "") -> None:
        """Hold nothing."""
        self.name = name
        self.processes = ()
        self.asked: list[str] = []
        self._wrong = wrong

    def connect(self, number: int) -> Any:
        """Return a client, which is the system itself."""
        del number
        return nullcontext(SimpleNamespace(**{
            method: lambda *_, kind=kind: self._answer(kind)
            for kind, method in zip(
                OPERATIONS, ("create", "show", "amend", "list_all", "earliest", "delete"), strict=True
            )
        }))  # fmt: skip

    def _answer(self, kind: str) -> Asked[bool]:
        self.asked.append(kind)
        return Asked(kind != self._wrong, 0.001)


def test_both_systems_are_asked_the_same_kind_by_kind() -> None:
    peers = [Memory("Leasehold"), Memory("Slurm")]
    samples = {(peer.name, kind): Sample() for peer in peers for kind in OPERATIONS}
    measure(peers, Turn(7, 0, clients=3, begin=BEGIN, writes=4, lists=2), samples)  # type: ignore[arg-type]
    expected = [kind for kind in OPERATIONS for _ in range(2 if kind in ("list", "earliest for all hosts") else 4)]
    assert peers[0].asked == peers[1].asked == expected
    assert samples["Slurm", "create"].rounds == [[0.001] * 4]


@pytest.mark.parametrize("names", [("Leasehold",), ("Leasehold", "Slurm")])
def test_other_work_is_not_compared(names: tuple[str, ...]) -> None:
    """Neither when one system refuses, nor when both do: a refusal takes another time."""
    peers = [Memory(name, wrong="amend" if name in names else "") for name in ("Leasehold", "Slurm")]
    samples = {(peer.name, kind): Sample() for peer in peers for kind in OPERATIONS}
    with pytest.raises(RuntimeError, match="amend: the systems answer differently"):
        measure(peers, Turn(7, 0, clients=1, begin=BEGIN, writes=2, lists=1), samples)  # type: ignore[arg-type]


def test_every_request_is_sent_once_whatever_the_number_of_clients() -> None:
    sent: list[tuple[int, int]] = []

    def send(number: int, client: Any) -> Asked[int]:
        sent.append((client, number))
        return Asked(number, 0.0)

    clients: Any = range(3)
    answers = at_once(clients, [partial(send, number) for number in range(7)])
    assert sorted(each.value for each in answers) == list(range(7))
    assert {(client, number) for client, number in sent} == {(number % 3, number) for number in range(7)}


def test_a_sample_is_that_of_all_rounds() -> None:
    sample = Sample()
    sample.add([0.001, 0.002, 0.003], 0.03)
    sample.add([0.004, 0.004, 0.004], 0.03)
    assert sample.milliseconds(50) == 3.0
    assert sample.milliseconds(99) == 4.0
    assert sample.processor_milliseconds == pytest.approx(10.0)
    assert sample.spread == 2.0


def test_processor_time_is_that_of_the_process_and_grows() -> None:
    seen = processor_seconds([os.getpid()])
    assert abs(seen - time.process_time()) < 1.0


# The page.


def request_rows(what: str, ours: float, theirs: float) -> list[Row]:
    figures = {"p50": 1.0, "p99": 2.0, "processor time": 0.5}
    timed = [Row(f"{what}: {name}", ours * x, "ms", None, theirs * x, "Slurm's") for name, x in figures.items()]
    return [*timed, Row(f"{what}: {SPREAD}", 1.5, "", None, 1.2, "Slurm's")]


ROWS = [
    *request_rows("create, 10 present, 1 client", 12.0, 0.75),
    *request_rows("create, 5,000 present, 1 client", 18.0, 120.0),
    *decision_rows(*(Counter({("creation", each): count for each in Verdict}) for count in (3, 4))),
    *Loss(500, 120, [0.01]).rows("Slurm, an answer means memory", durable=False),
    *Loss(500, 0, [0.02]).rows("Leasehold, an answer means the log on the disk", durable=True),
]


def test_the_page_shows_both_systems_side_by_side() -> None:
    text = tables(ROWS)
    assert f"| create, 10 present, 1 client | 0.75 | 1.5 | 0.375 | 12 | 24 | 6 | {BLAZAR['create']:,.0f} |" in text
    assert "| create, 5,000 present, 1 client | 120 | 240 | 60 | 18 | 36 | 9 |  |" in text
    assert f"| creation | {Verdict.FEWER.value} | 4 | 3 |" in text
    assert "| Slurm, an answer means memory | 10 ms | 10 ms | 500 | 120 |" in text
    assert "| Leasehold, an answer means the log on the disk | 20 ms | 20 ms | 500 | 0 |" in text


def test_the_page_says_first_who_is_slower() -> None:
    ours, theirs = "Leasehold is slower in 1 of 2, 16.0 to 16.0 times", "Slurm is slower in 1 of 2, 6.7 to 6.7 times"
    assert f"* **create**, p50: {ours}; {theirs}.\n" in tables(ROWS)
    assert "Slurm is slower" not in tables(ROWS[:4])


def test_wrong_decisions_and_lost_reservations_of_ours_miss_a_budget() -> None:
    missed = {row.name for row in ROWS if row.verdict == "MISSED"}
    assert missed == {f"creation: {verdict.value}" for verdict in WRONG}
    assert f"deletion: {Verdict.BROKEN.value}" in {row.name for row in ROWS if row.verdict == "kept"}
    lost = list(Loss(500, 1, [0.02]).rows("Leasehold", durable=True))
    assert [row.verdict for row in lost] == ["", "", "", "MISSED"]
