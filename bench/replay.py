"""Replay a trace as leases against the real service, and check every answer against a brute-force reference.

    python -m bench.replay [TRACE.swf] [--hosts N] [--limit N] [--url http://127.0.0.1:1234/v1]

Each job becomes a lease on whole hosts that begins a day after its submission and lasts as long as it asked for.
Without a trace, a generated one is played. Exits with 1 when the service grants, refuses or places a lease differently
from the reference, or answers anything but 201 and 409.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.client import ISO, MINUTES, VERSION_1_1, AnswerError, Client
from bench.deployment import fresh_service, host_lease
from bench.figures import percentile
from bench.replay_reference import Reference
from bench.swf import Job, TraceError, read_trace
from bench.workload import generate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROCESSORS_PER_HOST: Final = 8
DAY: Final = 86_400
SEED: Final = 20_261_121
GENERATED_JOBS: Final = 2_000
ACKNOWLEDGED: Final = {
    "sdsc": "SDSC Blue Horizon log: Travis Earheart and Nancy Wilkins-Diehr, SDSC; Parallel Workloads Archive"
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A lease to ask for; `start` counts seconds from the beginning of the replay's calendar."""

    job: int
    user: int
    hosts: int
    start: int
    length: int


@dataclass(slots=True)
class Report:
    """The results of a replay."""

    accepted: int = 0
    refused: int = 0
    latencies: list[float] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether every answer of the service was correct."""
        return not self.mismatches and not self.errors


def asked_in_hosts(jobs: Sequence[Job], processors: int = PROCESSORS_PER_HOST) -> bool:
    """Return whether a trace counts requests in hosts, although its format says processors.

    It does if every job with both figures used exactly `processors` processors for each unit that it asked for.
    """
    both = [job for job in jobs if job.used > 0 and job.asked > 0]
    return bool(both) and all(job.used == processors * job.asked for job in both)


def leases_of(
    jobs: Sequence[Job], *, in_hosts: bool = False, processors: int = PROCESSORS_PER_HOST
) -> tuple[list[Ask], int]:
    """Return the jobs' leases in the order of submission, and how many jobs have no size or no length."""
    wanted = []
    for job in jobs:
        length = job.time_asked if job.time_asked > 0 else job.ran
        size = job.asked if job.asked > 0 else job.used
        hosts = size if in_hosts and job.asked > 0 else -(-size // processors)
        if hosts > 0 and length > 0:
            wanted.append(Ask(job.job, job.user, hosts, job.submitted + DAY, length))
    return wanted, len(jobs) - len(wanted)


class Dates:
    """Moves the trace's times into the future, and writes them in the resolution of the service.

    A service with a resolution of minutes gets windows that are rounded outward, and so does the reference.
    """

    def __init__(self, now: datetime, first: int, *, to_the_second: bool) -> None:
        """Let the earliest start, `first`, be a day from `now`."""
        self._origin = now.replace(minute=0, second=0, microsecond=0) + timedelta(days=1, hours=1, seconds=-first)
        self._step = 1 if to_the_second else 60
        self._form = ISO if to_the_second else MINUTES

    def window(self, lease: Ask) -> tuple[int, int]:
        """Return start and end in seconds since the epoch."""
        start = int(self._origin.timestamp()) + lease.start
        end = start + lease.length
        return start - start % self._step, end + -end % self._step

    def write(self, seconds: int) -> str:
        """Return a time in the service's format."""
        return datetime.fromtimestamp(seconds, UTC).strftime(self._form)


class Replay:
    """One run against one service."""

    def __init__(self, client: Client, leases: Sequence[Ask]) -> None:
        """Read from the service its hosts, their present leases, and the resolution of its dates."""
        self._client = client
        self._leases = leases
        (served,) = client.ask("GET", "//versions").expect(300).body["versions"]
        fine = tuple(map(int, served["max_version"].split("."))) >= (1, 1)
        self._headers: Mapping[str, str] = VERSION_1_1 if fine else {}
        first = min((lease.start for lease in leases), default=0)
        self._dates = Dates(datetime.now(UTC), first, to_the_second=fine)
        self.hosts = [host["id"] for host in client.get("/os-hosts")["hosts"] if host["reservable"]]
        self._reference = Reference(len(self.hosts))
        self._expected: dict[str, tuple[Ask, list[int]]] = {}
        for number, promises in self._promises().items():
            for promise in promises:
                self._reference.occupy(number, *(_seconds(promise[f"{side}_date"]) for side in ("start", "end")))

    def run(self) -> Report:
        """Send all requests one after the other, and then compare the chosen hosts."""
        report = Report()
        for lease in self._leases:
            self._send(lease, report)
        self._compare_hosts(report)
        return report

    def _send(self, lease: Ask, report: Report) -> None:
        start, end = self._dates.window(lease)
        expected = self._reference.ask(lease.hosts, start, end)
        body = host_lease(f"job-{lease.job}", self._dates.write(start), self._dates.write(end), lease.hosts)
        try:
            answer = self._client.ask("POST", "/leases", body, self._headers).expect(201, 409)
        except AnswerError as error:
            report.errors.append(f"job {lease.job}: {error}")
            return
        report.latencies.append(answer.seconds)
        granted = answer.status == 201
        report.accepted += granted
        report.refused += not granted
        if granted != (expected is not None):
            said, should = ("granted", "refused") if granted else ("refused", "granted")
            report.mismatches.append(f"job {lease.job}: {said}, should be {should}: {answer.text[:300]}")
        if granted:
            self._expected[answer.body["lease"]["id"]] = (lease, expected or [])

    def _compare_hosts(self, report: Report) -> None:
        chosen: dict[str, list[int]] = defaultdict(list)
        for number, promises in self._promises().items():
            for promise in promises:
                chosen[promise["lease_id"]].append(number)
        for lease_id, (lease, expected) in self._expected.items():
            if sorted(chosen[lease_id]) != expected:
                places = ", ".join(self.hosts[number] for number in sorted(chosen[lease_id]))
                should = ", ".join(self.hosts[number] for number in expected)
                report.mismatches.append(f"job {lease.job}: got hosts {places}; should be {should}")

    def _promises(self) -> dict[int, list[dict[str, Any]]]:
        numbers = {name: number for number, name in enumerate(self.hosts)}
        found = self._client.get("/os-hosts/allocations")["allocations"]
        return {numbers[each["resource_id"]]: each["reservations"] for each in found if each["resource_id"] in numbers}

    def clean_up(self) -> None:
        """Delete the leases that this replay made."""
        for lease_id in self._expected:
            self._client.ask("DELETE", f"/leases/{lease_id}").expect(204, 404)


def _seconds(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())


def describe(report: Report) -> str:
    """Return the figures of a replay as lines."""
    lines = [f"{report.accepted:,} leases granted, {report.refused:,} refused"]
    if report.latencies:
        seconds = sum(report.latencies)
        lines.append(f"{len(report.latencies) / seconds:.0f} leases a second from one client, {seconds:.1f} s in all")
        p50, p99 = (1000 * percentile(report.latencies, p) for p in (50, 99))
        lines.append(
            f"latency over HTTP: p50 {p50:.1f} ms, p99 {p99:.1f} ms, highest {1000 * max(report.latencies):.1f} ms"
        )
    lines.append(f"mismatches with the reference: {len(report.mismatches)}, errors: {len(report.errors)}")
    return "\n".join([*lines, *report.mismatches[:10], *report.errors[:10]])


def _jobs(args: argparse.Namespace) -> tuple[list[Job], str]:
    if args.trace is None:
        jobs = generate(SEED, args.limit or GENERATED_JOBS, hosts=args.hosts)
        return jobs, f"a generated trace, seed {SEED}"
    thanks = [text for key, text in ACKNOWLEDGED.items() if key in args.trace.name.lower()]
    return read_trace(args.trace), "; ".join([args.trace.name, *thanks])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trace", nargs="?", type=Path, help="a file in the Standard Workload Format")
    parser.add_argument("--hosts", type=int, default=144, help="hosts of the service that is started (default 144)")
    parser.add_argument("--limit", type=int, help="how many jobs to play (default all)")
    parser.add_argument("--url", help="v1 endpoint of a running service, without authentication, instead of a new one")
    parser.add_argument(
        "--asked", choices=("auto", "processors", "hosts"), default="auto", help="the unit of column 8 (default auto)"
    )
    return parser.parse_args()


def main() -> int:
    """Play the trace, print the results, and return the exit code."""
    args = _arguments()
    try:
        jobs, source = _jobs(args)
    except TraceError as error:
        print(error, file=sys.stderr)
        return 1
    in_hosts = args.asked == "hosts" or (args.asked == "auto" and asked_in_hosts(jobs))
    leases, left_out = leases_of(jobs[: args.limit], in_hosts=in_hosts)
    print(f"{source}: {len(leases):,} leases, {left_out} jobs without a size or a length left out;")
    print(f"what was asked is counted in {'hosts' if in_hosts else 'processors'}, {PROCESSORS_PER_HOST} to a host")
    service = nullcontext(args.url) if args.url else fresh_service(args.hosts)
    with service as api, Client(api if isinstance(api, str) else api.url) as client:
        replay = Replay(client, leases)
        print(f"{len(replay.hosts)} hosts")
        report = replay.run()
        if args.url:
            replay.clean_up()
    print(describe(report))
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
