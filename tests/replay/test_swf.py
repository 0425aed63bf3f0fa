"""Reading traces: valid lines are parsed, and invalid ones are refused with the file and the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.replay import asked_in_hosts, leases_of
from bench.swf import Job, TraceError, parse_trace, read_trace, write_trace
from bench.workload import generate

if TYPE_CHECKING:
    from pathlib import Path

LINE = "7 120 20 600 32 0.03 -1 64 7200 -1 1 96 -1 -1 3 -1 -1 -1"


def job(**values: int) -> Job:
    return Job(**{"job": 1, "submitted": 0, "ran": 60, "used": 8, "asked": 8, "time_asked": 300, "user": 1, **values})


def test_a_job_is_read_from_its_columns() -> None:
    assert parse_trace([LINE], "t.swf") == [
        Job(job=7, submitted=120, ran=600, used=32, asked=64, time_asked=7200, user=96)
    ]


def test_comments_and_empty_lines_are_no_jobs() -> None:
    lines = ["; Version: 2.2", "", "   ", ";", f"{LINE} ; a remark"]
    assert [each.job for each in parse_trace(lines, "t.swf")] == [7]


def test_a_trace_that_ends_early_in_its_lines_is_read_as_far_as_it_is_needed() -> None:
    assert len(parse_trace([" ".join(LINE.split()[:12])], "t.swf")) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (" ".join(LINE.split()[:11]), r"11 columns; a job has 18, and 12 are needed\.$"),
        (LINE.replace(" 120 ", " -1 "), "column 2, the submit time, is -1"),
        *(
            (LINE.replace(" 120 ", f" {word} "), r"column 2, submitted, is .* not a whole number\.$")
            for word in ("x", "1.5", "''", "nan", "1e3")
        ),
    ],
)
def test_a_line_that_is_no_job_is_refused_with_its_place(line: str, says: str) -> None:
    with pytest.raises(TraceError, match=rf"^t\.swf, line 3: {says}"):
        parse_trace(["; c", LINE, line], "t.swf")


def test_columns_that_nobody_reads_may_hold_anything() -> None:
    words = LINE.split()
    words[5] = words[12] = "?"
    assert len(parse_trace([" ".join(words)], "t.swf")) == 1


def test_jobs_come_in_the_order_of_their_submission() -> None:
    later = LINE.replace("7 120", "8 60", 1)
    assert [each.job for each in parse_trace([LINE, later], "t.swf")] == [8, 7]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nothing\.swf: the trace cannot be read: No such file"):
        read_trace(tmp_path / "nothing.swf")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    jobs = generate(5, 50, hosts=24)
    write_trace(jobs, tmp_path / "t.swf")
    assert read_trace(tmp_path / "t.swf") == jobs


def test_the_generator_repeats_itself_and_heeds_its_seed() -> None:
    assert generate(5, 50, hosts=24) == generate(5, 50, hosts=24)
    assert generate(5, 50, hosts=24) != generate(6, 50, hosts=24)


@pytest.mark.parametrize(
    ("values", "hosts"),
    [
        ({"asked": 8}, 1),
        ({"asked": 9}, 2),
        ({"asked": 1}, 1),
        ({"asked": -1, "used": 17}, 3),
        ({"asked": 0, "used": 8}, 1),
    ],
)
def test_hosts_are_processors_rounded_up(values: dict[str, int], hosts: int) -> None:
    leases, left_out = leases_of([job(**values)])
    assert [lease.hosts for lease in leases] == [hosts]
    assert left_out == 0


def test_a_lease_begins_a_day_after_the_submission_and_lasts_as_asked_or_as_long_as_the_job_ran() -> None:
    leases, _ = leases_of([job(submitted=50), job(submitted=50, time_asked=-1)])
    assert [(lease.start, lease.length) for lease in leases] == [(86_450, 300), (86_450, 60)]


@pytest.mark.parametrize("values", [{"asked": -1, "used": -1}, {"asked": 0, "used": 0}, {"time_asked": -1, "ran": -1}])
def test_a_job_that_does_not_say_enough_is_counted_and_left_out(values: dict[str, int]) -> None:
    assert leases_of([job(**values), job()])[1] == 1


def test_a_log_that_counts_hosts_is_recognised() -> None:
    jobs = [job(used=32, asked=4), job(used=-1, asked=140)]
    assert asked_in_hosts(jobs)
    assert [lease.hosts for lease in leases_of(jobs, in_hosts=True)[0]] == [4, 140]
    assert leases_of([job(used=32, asked=-1)], in_hosts=True)[0][0].hosts == 4


def test_a_log_that_counts_processors_is_recognised() -> None:
    assert not asked_in_hosts([job(used=32, asked=32), job(used=32, asked=4)])
    assert not asked_in_hosts([job(used=-1, asked=4)])
    assert not asked_in_hosts([])
