"""The crowd of the benchmark creates, amends and deletes all that it wants, and two checkouts are compared."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from bench.beside_crowd import lines
from bench.crowd import VERBS, Spent, crowd, measured
from bench.deployment import fresh_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.processes import Program


@pytest.fixture
def api() -> Iterator[Program]:
    with fresh_service(2) as made:
        yield made


@pytest.mark.slow
def test_each_client_creates_amends_and_deletes_its_leases(api: Program) -> None:
    with crowd([api], 6) as clients:
        found = measured([api], clients, 2, itertools.count())
        assert not any(client.get("/leases")["leases"] for client in clients)
    assert {verb: len(spent.each) for verb, spent in found.items()} == dict.fromkeys(VERBS, 12)
    assert all(0 < spent.ms(50) <= spent.ms(99) <= 1000 * spent.wall for spent in found.values())
    assert sum(spent.processor for spent in found.values()) > 0


def test_a_ratio_is_the_median_of_those_of_the_rounds() -> None:
    def round_of(before: float, now: float) -> list[dict[str, Spent]]:
        return [dict.fromkeys(VERBS, Spent([wall] * 4, wall, wall)) for wall in (before, now)]

    said = list(lines([round_of(1, 0.5), round_of(4, 2), round_of(8, 1)]))
    assert said[0] == "created: 1.00 /s before, 4.00 now, 2.00 times"
    assert said[1] == "created: 4000.00 ms p50 before, 1000.00 now, 0.50 times"
    assert len(said) == 4 * len(VERBS)
