"""Replays a trace against the real process: each decision and placement equals that of a brute-force reference."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.client import Client
from bench.deployment import fresh_service
from bench.replay import Ask, Dates, Replay, Report, asked_in_hosts, describe, leases_of
from bench.replay_reference import Reference
from bench.swf import read_trace
from bench.workload import generate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.swf import Job

SEED = 20_261_121
HOSTS = 24
TRACE = os.environ.get("LEASEHOLD_TRACE")
TRACE_HOSTS = int(os.environ.get("LEASEHOLD_TRACE_HOSTS", "144"))


def replayed(jobs: Sequence[Job], hosts: int) -> Report:
    leases, _ = leases_of(jobs, in_hosts=asked_in_hosts(jobs))
    with fresh_service(hosts) as api, Client(api.url) as client:
        return Replay(client, leases).run()


def of_the_generator() -> tuple[list[Job], int]:
    return generate(SEED, 300, hosts=HOSTS), HOSTS


def of_the_file() -> tuple[list[Job], int]:
    return read_trace(Path(TRACE or "")), TRACE_HOSTS


SOURCES = [pytest.param(of_the_generator, id=f"seed-{SEED}")]
if TRACE:
    SOURCES.append(pytest.param(of_the_file, id="LEASEHOLD_TRACE", marks=pytest.mark.timeout(1800)))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_lease_is_granted_and_placed_as_the_reference_does(source: Callable[[], tuple[list[Job], int]]) -> None:
    report = replayed(*source())
    assert report.good, describe(report)
    # A trace whose leases are all granted or all refused would prove nothing.
    assert min(report.accepted, report.refused) >= 50, describe(report)


def test_the_reference_takes_the_lowest_numbers_that_are_free_all_the_time() -> None:
    reference = Reference(3)
    assert reference.ask(2, 10, 20) == [0, 1]
    assert reference.ask(2, 15, 25) is None
    assert reference.ask(1, 15, 25) == [2]
    assert reference.ask(2, 20, 30) == [0, 1]
    assert reference.ask(4, 90, 99) is None


@pytest.mark.parametrize(
    ("to_the_second", "written"),
    [
        (False, ["2031-05-02 10:01", "2031-05-02 10:03"]),
        (True, ["2031-05-02T10:01:01Z", "2031-05-02T10:02:02Z"]),
    ],
)
def test_dates_are_kept_to_the_second_or_rounded_outward_to_minutes(written: list[str], *, to_the_second: bool) -> None:
    dates = Dates(datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC), 0, to_the_second=to_the_second)
    window = dates.window(Ask(job=1, user=1, hosts=1, start=61, length=61))
    assert [dates.write(moment) for moment in window] == written
