"""No use case costs more than before: the counts, which do not depend on the machine, equal `kept.toml`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.counts import kept
from tests.counts.answers import count_answers
from tests.counts.cloud import count_cloud
from tests.counts.costs import count_costs
from tests.counts.crowd import reading_costs
from tests.servers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEW, MANY = 10, 1_000


def check(section: str, counted: kept.Counts) -> None:
    found = list(kept.differences(kept.read().get(section, {}), counted))
    assert not found, "\n".join([f"[{section}] of tests/counts/kept.toml:", *found])


def test_statements_commits_and_rows_of_every_use_case(database_url: str) -> None:
    check(database_url.partition(":")[0].partition("+")[0].replace("mysql", "mariadb"), count_costs(database_url))


def test_calls_to_the_cloud_of_every_step(tmp_path: Path) -> None:
    check("cloud", count_cloud(tmp_path))


def test_a_step_that_is_done_again_changes_nothing(tmp_path: Path) -> None:
    writes = {name: cost["writes"] for name, cost in count_cloud(tmp_path).items() if name.endswith("already")}
    assert writes
    assert set(writes.values()) == {0}, writes


def test_sizes_of_answers(tmp_path: Path) -> None:
    check("answers", count_answers(tmp_path))


@pytest.mark.parametrize(
    "kind", [kind if kind == "sqlite" else pytest.param(kind, marks=pytest.mark.servers) for kind in KINDS]
)
def test_a_create_reads_no_more_when_there_are_more_leases(kind: str, tmp_path: Path, databases: Any) -> None:
    costs = []
    for leases in (FEW, MANY):
        with empty_database(kind, databases, tmp_path / f"{leases}.db") as url:
            costs.append(reading_costs(url, leases))
    assert costs[0]["statements"] > 0
    assert kind != "sqlite" or costs[0]["steps"] > 0
    assert costs[0] == costs[1]


@contextmanager
def empty_database(kind: str, databases: Any, path: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{path}"
        return
    url: str = databases.create(kind)
    try:
        yield url
    finally:
        databases.drop(kind, url)


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
