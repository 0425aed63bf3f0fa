"""Compares the answers that clients got with the tables and with the cloud, once the managers are idle.

Every accepted lease exists with exactly its last granted state; every refused request left no row in any table; a
request without an answer took effect completely or not at all.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness.cloud_checks import cloud_problems
from tests.harness.database_checks import database_problems
from tests.harness.tables import Row, Tables, dump, moment, read_tables
from tests.harness.visitor import Outcome
from tests.processes import WARM, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.harness.visitor import Asked

ENDING = ("lease", "host")
"""The kinds of work that finish; periodic work is excluded."""
SOON = timedelta(hours=1)
"""Work due after this is not waited for."""
TOO_LATE = "The lease's time passed before it could start."


def problems(url: str, answers: Sequence[Asked]) -> Iterator[str]:
    """Return every problem, the quickest checks first; nothing when all is consistent."""
    tables = read_tables(url)
    yield from open_work(tables)
    yield from _traces(url, answers)
    yield from _leases(tables, answers)
    yield from database_problems(tables, datetime.now(UTC))
    yield from cloud_problems(tables)
    yield from audit_findings(url)


# ---------------------------------------------------------------- idle


def open_work(tables: Tables) -> list[str]:
    """Return the work that managers still have to do: claimed or soon due tasks, and leases in a wrong status."""
    now = datetime.now(UTC)
    # Servers on a failed host: a manager checks again and again whether they are gone, because no notification reports
    # their removal; only their owner or the end of the lease removes them.
    watched = {row.lease_id for row in tables["allocations"] if row.left_at is not None and row.released_at is None}
    found = [
        f"task {row.id} for {row.subject} is due at {row.due_at}, {row.attempts} attempts: {row.last_error}"
        for row in tables["tasks"]
        if row.kind in ENDING
        and (row.claimed_by is not None or (row.due_at is not None and row.due_at <= now + SOON))
        and not (row.subject in watched and row.claimed_by is None and row.last_error is None)
    ]
    return found + [
        f"lease {row.id} is {row.status} from {row.start_at} to {row.end_at}: {row.status_reason}"
        for row in tables.leases()
        if row.status != _expected(row, now) and not _is_unkept(row, now) and not _was_not_granted(row)
    ]


def _expected(lease: Row, now: datetime) -> str:
    if lease.end_at <= now:
        return "TERMINATED"
    return "PENDING" if lease.start_at > now else "ACTIVE"


def _is_unkept(lease: Row, now: datetime) -> bool:
    """Return whether a lease of a few seconds ended in ERROR without a start, because the machine was too busy."""
    return lease.end_at <= now and lease.status == "ERROR" and (lease.status_reason or "").startswith(TOO_LATE)


def _was_not_granted(lease: Row) -> bool:
    """Return whether a lease waited for resources to its deadline, or to its last try."""
    return lease.waiting is not None and not lease.waiting["granted"] and lease.status in ("TIMEDOUT", "ERROR")


# ---------------------------------------------------------------- refused requests


def _traces(url: str, answers: Sequence[Asked]) -> Iterator[str]:
    """Search every column of every table for names that only refused requests used: 32 hexadecimal digits."""
    refused = {each.name: each for each in answers if each.name and each.outcome is Outcome.REFUSED}
    for table, rows in dump(url, lambda _table: True).items():
        for row in rows:
            words = " ".join(row).translate(str.maketrans("\"',", "   ")).split()
            yield from (
                f"{refused[word].kind} was refused ({refused[word].status}) and left {table}: {row}"
                for word in words
                if word in refused
            )


# ---------------------------------------------------------------- granted requests


def _leases(tables: Tables, answers: Sequence[Asked]) -> Iterator[str]:
    rows = {row.id: row for row in tables["leases"]}
    # An amendment may have changed the name since.
    created = {row.payload["name"]: row.lease_id for row in tables["outbox"] if row.event_type == "lease.create"}
    # Nobody is told of an offer, and before it is accepted it has the name that it was asked for with.
    created |= {row.name: row.id for row in tables["leases"] if row.offered_until and row.id not in created.values()}
    by_lease: dict[str, list[Asked]] = defaultdict(list)
    released = _released(tables)
    for each in answers:
        lease_id = each.lease_id or created.get(each.name, "")
        if lease_id:
            by_lease[lease_id].append(each)
        elif each.outcome is Outcome.GRANTED:
            yield f"{each.kind} {each.name} was granted and is not there"
    for lease_id in rows.keys() - by_lease.keys():
        yield f"nobody asked for lease {lease_id}"
    for lease_id, asked in by_lease.items():
        if lease_id not in rows:
            yield f"lease {lease_id} was granted and is not there"
            continue
        parts = {part.id: part for part in tables.parts(rows[lease_id])}
        yield from _one(rows[lease_id], parts, asked, less=lease_id in released)


def _one(lease: Row, parts: dict[str, Row], asked: Sequence[Asked], *, less: bool) -> Iterator[str]:
    """Compare one lease with all requests about it; it may have `less` than was promised if nobody used it."""
    deletions = {each.outcome for each in asked if each.method == "DELETE"}
    yield from _offer(lease, asked)
    if Outcome.GRANTED in deletions and lease.deleted_at is None:
        yield f"lease {lease.id} was deleted and is still there, {lease.status}"
    may_lapse = lease.offered_until and not accepted(asked, Outcome.GRANTED)
    if not deletions & {Outcome.GRANTED, Outcome.UNKNOWN} and lease.deleted_at is not None and not may_lapse:
        yield f"nobody deleted lease {lease.id}, and it is gone"
    changes = [each for each in asked if each.method != "DELETE"]
    granted = [each for each in changes if each.outcome is Outcome.GRANTED]
    last = max(granted, key=lambda each: each.generation, default=None)
    candidates = [each for each in changes if each.outcome is Outcome.UNKNOWN] + ([last] if last else [])
    now = [each for each in candidates if each.name == lease.name]
    if not now:
        names = {each.name: f"{each.kind} {each.status} at {each.generation}" for each in changes}
        yield f"lease {lease.id} is as {names.get(lease.name)} left it, not as {last and last.kind} was promised"
    for change in now:
        yield from _differences(lease, parts, change, less=less)


def accepted(asked: Sequence[Asked], *outcomes: Outcome) -> bool:
    """Return whether an offer was accepted with one of these outcomes."""
    return any(each.kind == "accept offer" and each.outcome in outcomes for each in asked)


def _offer(lease: Row, asked: Sequence[Asked]) -> Iterator[str]:
    """Compare what became of an offer with who accepted it; nothing for a lease that was none."""
    may_be_accepted = accepted(asked, Outcome.GRANTED, Outcome.UNKNOWN)
    if lease.offered_until and lease.deleted_at is None and not may_be_accepted:
        yield f"nobody accepted offer {lease.id}, and it is {lease.status}"
    if accepted(asked, Outcome.GRANTED) and lease.status == "OFFERED":
        yield f"offer {lease.id} was accepted, and is still one"


def _released(tables: Tables) -> set[str]:
    """Return the ids of the leases that gave up what nobody used: they have less now, or have ended early."""
    return {row.lease_id for row in tables["outbox"] if row.event_type == "lease.no_show_released"}


def _differences(lease: Row, parts: dict[str, Row], change: Asked, *, less: bool) -> Iterator[str]:
    """Compare a lease with its last change: the answer, or the request when it got none."""
    told = change.body["lease"] if change.outcome is Outcome.GRANTED else change.sent or {}
    if "shared_with" in told and sorted(told["shared_with"]) != _shared(parts):
        yield f"lease {lease.id} is shared with {_shared(parts)}, and {change.kind} said {told['shared_with']}"
    moved = _moved(lease, told)
    for found, key in ((lease.start_at, "start_date"), (lease.end_at, "end_date")):
        promised = moment(told[key]) + moved if key in told else found
        if found != promised and not (less and key == "end_date" and found < promised):
            yield f"lease {lease.id}: {key} is {found}, and {change.kind} said {told[key]}"
    asked = told.get("reservations", [])
    if change.method == "POST" and len(asked) != len(parts):
        yield f"lease {lease.id} has {len(parts)} reservations of {len(asked)}"
    for wanted in asked:
        part = parts.get(wanted.get("id", ""))
        request: dict[str, Any] = part.request if part else {}
        yield from (
            f"lease {lease.id}: {key} is {request[key]!r}, and {change.kind} said {wanted[key]!r}"
            for key in ("min", "max", "amount", "vcpus")
            if key in wanted and key in request and request[key] != wanted[key]
            if not (less and request[key] < wanted[key])
        )


def _shared(parts: Mapping[str, Row]) -> list[str]:
    """Return the other projects that may use a lease with these reservations."""
    return sorted({other for part in parts.values() for other, may in part.cloud.get("shares", {}).items() if may})


def _moved(lease: Row, told: Mapping[str, Any]) -> timedelta:
    """Return by how much a lease that has waited begins later than was said: at its grant, if its start was over."""
    if lease.waiting is None or not lease.waiting["granted"] or "start_date" not in told:
        return timedelta(0)
    later: timedelta = lease.start_at - moment(told["start_date"])
    return max(timedelta(0), later)


# ---------------------------------------------------------------- the product's own opinion


def audit_findings(url: str) -> list[str]:
    """Return the findings of `leasehold-manage audit`, run as an operator runs it."""
    with tempfile.TemporaryDirectory(prefix="leasehold-audit-") as folder:
        config = Path(folder) / "leasehold.conf"
        config.write_text(as_text({"database": {"connection": url}, "cloud": {"driver": "sandbox"}}))
        words = ("audit", "--json", "--config-file", str(config))
        done = WARM.run("leasehold-manage", *words, environment=os.environ)
    if done.returncode == 0 and json.loads(done.stdout)["findings"] == []:
        return []
    return [f"leasehold-manage audit left with {done.returncode}: {done.stdout[-4000:]}{done.stderr[-4000:]}"]
