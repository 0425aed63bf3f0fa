"""No use case costs more than before: the counts, which do not depend on the machine, equal `kept.toml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.counts import kept
from tests.counts.answers import count_answers
from tests.counts.cloud import count_cloud
from tests.counts.costs import count_costs
from tests.counts.crowd import reading_costs
from tests.databases import Databases, database

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FEW, MANY = 40, 1_000


def check(section: str, counted: kept.Counts) -> None:
    found = list(kept.differences(kept.read().get(section, {}), counted))
    assert not found, "\n".join([f"[{section}] of tests/counts/kept.toml:", *found])


def test_statements_commits_and_rows_of_every_use_case(database_kind: str, database_url: str) -> None:
    check(database_kind, count_costs(database_url))


def test_calls_to_the_cloud_of_every_step_and_none_that_writes_when_it_is_done_again(tmp_path: Path) -> None:
    counted = count_cloud(tmp_path)
    check("cloud", counted)
    again = {name: cost["writes"] for name, cost in counted.items() if name.endswith("already")}
    assert again == dict.fromkeys(again, 0) != {}


def test_sizes_of_answers(tmp_path: Path) -> None:
    check("answers", count_answers(tmp_path))


def test_a_create_reads_no_more_when_there_are_more_leases(
    database_kind: str, tmp_path: Path, databases: Databases
) -> None:
    costs = []
    for leases in (FEW, MANY):
        with database(databases, database_kind, tmp_path, str(leases)) as url:
            costs.append(reading_costs(url, leases))
    assert costs[0]["statements"] > 0
    assert database_kind != "sqlite" or costs[0]["steps"] > 0
    assert costs[0] == costs[1]


def test_growth_is_told_from_improvement_and_from_what_nobody_has_kept() -> None:
    before = {"create": {"statements": 10, "commits": 1}, "get": {"statements": 3}}
    now = {"create": {"statements": 12, "commits": 0}, "list": {"statements": 3}}
    said = list(kept.differences(before, now))
    assert said == [
        "create: better: commits went from 1 to 0; lower the number with `python -m tests.counts --write`",
        "create: statements grew from 10 to 12",
        "get: kept, but no longer counted; renew with `python -m tests.counts --write`",
        "list: not kept yet; renew with `python -m tests.counts --write`",
    ]


def test_what_is_written_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "PAGE", tmp_path / "kept.toml")
    sections = {"sqlite": {"create, 1 reservation": {"statements": 10, "bytes": 800}}, "cloud": {}}
    kept.write(sections)
    assert kept.read() == sections
