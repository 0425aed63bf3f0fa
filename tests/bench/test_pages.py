"""The result pages of the benchmark: every measurement is shown, and each reason belongs to a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bench import plots, results
from bench.__main__ import refusal
from bench.growth import CALIBRATION, grown
from bench.machine import MOST_LOAD
from bench.peers.page import SPREAD
from bench.reasons import NONE_YET, REASONS, stale
from bench.record import Group, Record
from bench.row import Course, Point, Row
from bench.simulation.parts import PARTS
from bench.simulation.utilisation import STATES

if TYPE_CHECKING:
    from pathlib import Path

# The plots need matplotlib, and its import takes longer than the tests do.
pytestmark = pytest.mark.slow

MISSED = Row(
    "list 1,000 leases, all of which have changed, MariaDB, p50",
    169.0,
    "ms",
    150.0,
    0.7,
    "trivial requests",
    point=Point("list", "GET", 1_000),
)
KEPT = Row("calendar, 200,000 allocations: decision, instances, p99", 1.5, "ms", 2.0)
EXACT = Row("15 simultaneous requests: granted", 15, "", 15, exact=True)
SMALLER = Row("list 100 leases, MariaDB, p50", 18.0, "ms", point=Point("list", "GET", 100))
COURSES = [
    Row("hosts used", 50.0, "%", course=Course("month", "used", (1.0, 2.5, 2.0))),
    Row("hosts free", 50.0, "%", course=Course("month", "free", (3.0, 1.5, 2.0))),
    Row("leases that wait", 0.33, "at a time", course=Course("month", "leases that wait", (0.0, 1.0, 0.0))),
]
PNG = b"\x89PNG\r\n"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "PLOTS", tmp_path / "plots")
    return tmp_path / "RESULTS.md"


def run_of(*rows: Row) -> Record:
    return Record("python -m bench --write", "2026-11-21", (("CPU", "one"),), (Group("some", "Some rows", 1.5, rows),))


def test_a_run_is_read_as_it_was_kept(tmp_path: Path) -> None:
    run = run_of(MISSED, KEPT, EXACT, SMALLER, *COURSES, Row("nothing", 0.0, ""))
    run.write(tmp_path / "out" / "run.json")
    assert Record.read(tmp_path / "out" / "run.json") == run


def test_a_reason_stands_on_the_page_when_its_row_is_missed_and_only_then(page: Path) -> None:
    results.write_page(run_of(MISSED, KEPT, EXACT, SMALLER))
    text = page.read_text()
    assert f"* **{MISSED.name}.** {REASONS[MISSED.name]}" in text
    assert f"* **{KEPT.name}" not in text
    assert f"| {KEPT.name} | 1.5 ms | <= 2 ms | 75 % | kept |" in text
    assert f"| {MISSED.name} | 169 ms | <= 150 ms | 113 % | MISSED |" in text


def test_a_page_without_missed_budgets_has_no_word_of_them(page: Path) -> None:
    results.write_page(run_of(KEPT, EXACT))
    assert "missed" not in page.read_text().partition("## Some rows")[0]


def test_a_row_that_nobody_has_explained_says_so(page: Path) -> None:
    results.write_page(run_of(Row("new", 3.0, "s", 2.0)))
    assert f"* **new.** {NONE_YET}" in page.read_text()


def test_every_plot_on_the_page_is_there(page: Path) -> None:
    results.write_page(run_of(MISSED, KEPT, EXACT, SMALLER, *COURSES))
    pictures = sorted(path.name for path in (page.parent / "plots").iterdir())
    assert pictures == ["budgets.png", "list.png", "month.png"]
    for name in pictures:
        assert f"(plots/{name})" in page.read_text()
        assert (page.parent / "plots" / name).read_bytes().startswith(PNG)


def test_a_plot_that_is_no_longer_drawn_goes(page: Path) -> None:
    (page.parent / "plots").mkdir()
    (page.parent / "plots" / "old.png").touch()
    results.write_page(run_of(KEPT))
    assert [path.name for path in (page.parent / "plots").iterdir()] == ["budgets.png"]


def test_a_page_of_its_own_has_its_plot_over_time(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(results.ALONE, "month", page.parent / "MONTH.md")
    results.write_page_alone("month", run_of(*COURSES, MISSED))
    assert "![The hosts in a simulated month](plots/month.png)" in (page.parent / "MONTH.md").read_text()
    assert [path.name for path in (page.parent / "plots").iterdir()] == ["month.png"]
    results.write_page(run_of(KEPT))
    assert (page.parent / "plots" / "month.png").exists()


def test_parts_of_the_month_stand_beside_each_other(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(results.ALONE, "month", page.parent / "MONTH.md")
    now = [Row(f"now-{n}: granted", 50.0 + n, "%", point=Point("now", "granted", n)) for n in (8, 32)]
    missed = Row("month-filled: hours", 2.0, "h", 1.5)
    others = [Row("month: hours", 1.0, "h"), Row("month-filled, retry: kept", 3.0, ""), Row("of no part", 7.0, "s")]
    results.write_page_alone("month", run_of(*others, missed, *now))
    text = (page.parent / "MONTH.md").read_text()
    for line in (
        f"| what | {PARTS['month'].title} | {PARTS['month-filled'].title} | goal |",
        "| hours | 1 h | **2 h**, missed | <= 1.5 h |",
        "| retry: kept |  | 3 |  |",
        "| what | 8 spares | 32 spares | goal |",
        "| granted | 58 % | 82 % |  |",
        "| of no part | 7 s |  |",
        f"* **{missed.name}.** {NONE_YET}",
        "(plots/now.png)",
    ):
        assert line in text


def test_every_layer_of_a_plot_has_a_colour_of_its_own() -> None:
    assert len(set(plots.LAYER_COLOURS)) == len(plots.LAYER_COLOURS) == len(STATES)


def test_one_point_makes_no_line(tmp_path: Path) -> None:
    assert plots.draw([SMALLER], tmp_path) == {}


def test_reasons_without_a_row_are_named() -> None:
    assert MISSED.name not in stale([MISSED])
    assert set(stale([])) == set(REASONS)


def test_every_row_has_a_budget_or_is_for_comparison(page: Path) -> None:
    results.write_page(run_of(MISSED, KEPT, EXACT, SMALLER))
    assert [results.cells(row)[2] for row in (MISSED, EXACT, SMALLER)] == ["<= 150 ms", "15", "for comparison"]
    assert f"| {SMALLER.name} | 18 ms | for comparison |" in page.read_text()


@pytest.mark.parametrize(
    ("unit", "before", "now", "grows"),
    [
        ("ms", 10, 15, True),
        ("s", 10, 14.9, False),
        ("MiB", 10, 15, True),
        ("/s", 15, 10, True),
        ("/s", 10, 15, False),
        ("", 10, 100, False),
        ("ms", 0, 1, False),
    ],
)
def test_what_costs_half_as_much_again_is_named(unit: str, before: float, now: float, *, grows: bool) -> None:
    found = grown([Row("some", now, unit), Row("new", 1_000, unit)], [Row("some", before, unit)])
    assert [each.row.name for each in found] == (["some"] if grows else [])


def test_a_slower_machine_makes_times_longer_and_takes_no_more_memory() -> None:
    """Neither does it make up for a machine that became faster."""

    def run(speed: float, time: float, memory: float) -> list[Row]:
        commit = Row(CALIBRATION[1], 2 * speed, "ms")
        return [Row(CALIBRATION[0], speed, "ms"), commit, Row("time", time, "ms"), Row("memory", memory, "MiB")]

    last = run(1, 10, 10)
    assert [each.row.name for each in grown(run(3, 40, 20), last)] == ["memory"]
    assert [str(each) for each in grown(run(0.5, 8, 10), last)] == [
        "time: 8 ms, was 10, 1.60 times as much at the same speed"
    ]


def test_what_was_accepted_stands_on_the_page(page: Path) -> None:
    results.write_page(run_of(SMALLER), grown([SMALLER], [Row(SMALLER.name, 9.0, "ms")]))
    assert f"* {SMALLER.name}: 18 ms, was 9, 2.00 times as much at the same speed\n" in page.read_text()
    results.write_page(run_of(SMALLER))
    assert "grew" not in page.read_text()


def test_groups_that_are_measured_again_take_the_place_of_their_own() -> None:
    first, again = run_of(SMALLER), run_of(replace(SMALLER, measured=17.0))
    merged = replace(first, command="all").with_later([replace(again, command="again")])
    assert ([row.measured for row in merged.rows], merged.command) == ([17.0], "all; again")
    assert first.with_later([]) == first


def test_the_page_of_the_repository_is_as_its_figures_say() -> None:
    """Also that none of its rows is without a budget and the words."""
    for line in results.PAGE.read_text(encoding="utf-8").splitlines():
        cells = [each.strip() for each in line.split("|")]
        if len(cells) == len(results.COLUMNS) + 2 and cells[-2] in ("", "kept", "MISSED"):
            assert cells[3], line


def test_a_page_that_compares_us_with_others_is_not_written_on_a_busy_machine() -> None:
    assert refusal(["peers"], MOST_LOAD) == ""
    assert "The load is 1.1" in refusal(["peers"], 1.1)
    assert refusal(["month", "post"], 20.0) == ""


def test_the_page_of_peers_has_its_own_tables(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(results.ALONE, "peers", page.parent / "PEERS.md")
    figures = ["p50", "p99", "processor time", SPREAD]
    rows = [Row(f"create, 10 present, 1 client: {name}", 6.0, "ms", None, 3.0, "Slurm's") for name in figures]
    results.write_page_alone("peers", run_of(*rows, Row("creation: wrong", 1, "", 0, 0, "Slurm's", exact=True)))
    text = (page.parent / "PEERS.md").read_text()
    assert "Leasehold is slower in 1 of 1, 2.0 to 2.0 times" in text
    assert f"* **creation: wrong.** {NONE_YET}" in text
