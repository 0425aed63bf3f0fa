"""Compares the answers that clients got with the tables and with the cloud, once the managers are idle.

Every accepted lease exists with exactly its last granted state; every refused request left no row in any table; a
request without an answer took effect completely or not at all.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from tests.factory import Clock, open_service
from tests.processes import BIN, as_text
from tests.race.ledger import read_ledger
from tests.race.visitor import Outcome
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.race.ledger import Ledger, Row
    from tests.race.visitor import Asked


ENDING = ("lease", "host")
"""The kinds of work that finish; periodic work is excluded."""
SOON = timedelta(hours=1)
"""Work due after this is not waited for."""
TOO_LATE = "The lease's time passed before it could start."


def problems(url: str, answers: Sequence[Asked]) -> list[str]:
    """Return every problem; empty when all is consistent."""
    ledger = read_ledger(url)
    return [
        *ledger.problems(),
        *open_work(ledger),
        *_traces(url, answers),
        *_leases(ledger, answers),
        *_second_opinion(url),
        *audit_findings(url),
    ]


def moment(value: Any) -> datetime:
    """Return a moment from what the drivers give: aware, naive or text, always UTC."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.replace(tzinfo=found.tzinfo or UTC)


# ---------------------------------------------------------------- idle


def open_work(ledger: Ledger) -> list[str]:
    """Return the work that managers still have to do: claimed or soon due tasks, and leases in a wrong status."""
    now = datetime.now(UTC)
    watched = _watched(ledger)
    found = [
        f"task {row['id']} for {row['subject']} is due at {row['due_at']}, {row['attempts']} attempts: "
        f"{row['last_error']}"
        for row in ledger.rows["tasks"]
        if row["kind"] in ENDING
        and (row["claimed_by"] is not None or (row["due_at"] is not None and moment(row["due_at"]) <= now + SOON))
        and not (row["subject"] in watched and row["claimed_by"] is None and row["last_error"] is None)
    ]
    for row in ledger.rows["leases"]:
        if row["deleted_at"] is None and row["status"] != _expected(row, now) and not is_unkept(row):
            why = row["status_reason"]
            found.append(f"lease {row['id']} is {row['status']} from {row['start_at']} to {row['end_at']}: {why}")
    return found


def _watched(ledger: Ledger) -> set[str]:
    """Return the leases with servers on a failed host: a manager checks again and again whether they are gone.

    No notification reports their removal; only their owner or the end of the lease removes them.
    """
    return {
        row["lease_id"]
        for row in ledger.rows["allocations"]
        if row["left_at"] is not None and row["released_at"] is None
    }


def _expected(lease: Row, now: datetime) -> str:
    if moment(lease["end_at"]) <= now:
        return "TERMINATED"
    return "PENDING" if moment(lease["start_at"]) > now else "ACTIVE"


def is_unkept(lease: Row) -> bool:
    """Return whether a lease of a few seconds ended in ERROR without a start, because the machine was too busy."""
    over = moment(lease["end_at"]) <= datetime.now(UTC)
    return over and lease["status"] == "ERROR" and (lease["status_reason"] or "").startswith(TOO_LATE)


# ---------------------------------------------------------------- refused requests


def _traces(url: str, answers: Sequence[Asked]) -> Iterator[str]:
    """Search every column of every table for names that only refused requests used."""
    refused = {each.name: each for each in answers if each.name and each.outcome is Outcome.REFUSED}
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                yield from (
                    f"{refused[word].kind} was refused ({refused[word].status}) and left {table.name}: {row}"
                    for word in _words(row)
                    if word in refused
                )
    engine.dispose()


def _words(row: Iterable[Any]) -> Iterator[str]:
    """Return everything in a row that could be one of our names: 32 hexadecimal digits."""
    for value in row:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        yield from (word for word in text.replace('"', " ").replace(",", " ").split() if len(word) == 32)


# ---------------------------------------------------------------- granted requests


def _leases(ledger: Ledger, answers: Sequence[Asked]) -> Iterator[str]:
    rows = {row["id"]: row for row in ledger.rows["leases"]}
    created = {row["payload_name"]: row["lease_id"] for row in _creations(ledger)}
    by_lease: dict[str, list[Asked]] = defaultdict(list)
    for each in answers:
        lease_id = each.lease_id or created.get(each.name, "")
        if lease_id:
            by_lease[lease_id].append(each)
        elif each.outcome is Outcome.GRANTED:
            yield f"{each.kind} {each.name} was granted and is not there"
    for lease_id in rows.keys() - by_lease.keys():
        yield f"nobody asked for lease {lease_id}"
    parts: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in ledger.rows["reservations"]:
        parts[row["lease_id"]][row["id"]] = row
    for lease_id, asked in by_lease.items():
        if lease_id not in rows:
            yield f"lease {lease_id} was granted and is not there"
            continue
        yield from _one(rows[lease_id], parts[lease_id], asked)


def _creations(ledger: Ledger) -> Iterator[Row]:
    """Return the id and the original name of each created lease; an amendment may have changed the name since."""
    for row in ledger.rows["outbox"]:
        if row["event_type"] == "lease.create":
            payload = json.loads(row["payload"]) if isinstance(row["payload"], str) else row["payload"]
            yield {"lease_id": row["lease_id"], "payload_name": payload["name"]}


def _one(lease: Row, parts: dict[str, Row], asked: Sequence[Asked]) -> Iterator[str]:
    """Compare one lease with all requests about it."""
    deletions = {each.outcome for each in asked if each.method == "DELETE"}
    if Outcome.GRANTED in deletions and lease["deleted_at"] is None:
        yield f"lease {lease['id']} was deleted and is still there, {lease['status']}"
    if not deletions & {Outcome.GRANTED, Outcome.UNKNOWN} and lease["deleted_at"] is not None:
        yield f"nobody deleted lease {lease['id']}, and it is gone"
    changes = [each for each in asked if each.method != "DELETE"]
    granted = [each for each in changes if each.outcome is Outcome.GRANTED]
    last = max(granted, key=lambda each: each.generation, default=None)
    candidates = [each for each in changes if each.outcome is Outcome.UNKNOWN] + ([last] if last else [])
    now = [each for each in candidates if each.name == lease["name"]]
    if not now:
        names = {each.name: f"{each.kind} {each.status} at {each.generation}" for each in changes}
        yield f"lease {lease['id']} is as {names.get(lease['name'])} left it, not as {last and last.kind} was promised"
    for change in now:
        yield from _differences(lease, parts, change)


def _differences(lease: Row, parts: dict[str, Row], change: Asked) -> Iterator[str]:
    """Compare a lease with its last change: the answer, or the request when it got none."""
    told = change.body["lease"] if change.outcome is Outcome.GRANTED else change.sent or {}
    for column, key in (("start_at", "start_date"), ("end_at", "end_date")):
        if key in told and moment(lease[column]) != moment(told[key]):
            yield f"lease {lease['id']}: {key} is {lease[column]}, and {change.kind} said {told[key]}"
    asked = told.get("reservations", [])
    if change.method == "POST" and len(asked) != len(parts):
        yield f"lease {lease['id']} has {len(parts)} reservations of {len(asked)}"
    for wanted in asked:
        request = _request(parts.get(wanted.get("id", "")))
        yield from (
            f"lease {lease['id']}: {key} is {request[key]!r}, and {change.kind} said {wanted[key]!r}"
            for key in ("min", "max", "amount", "vcpus")
            if request and key in wanted and key in request and request[key] != wanted[key]
        )


def _request(part: Row | None) -> dict[str, Any]:
    if part is None:
        return {}
    request: dict[str, Any] = json.loads(part["request"]) if isinstance(part["request"], str) else part["request"]
    return request


# ---------------------------------------------------------------- independent checks


def _second_opinion(url: str) -> Iterator[str]:
    """Run the brute-force checks of the database and of the sandbox that the stateful tests use."""
    world = open_service(url, clock=Clock(datetime.now(UTC)))
    try:
        for check in (audit, audit_cloud):
            try:
                check(world)
            except (AssertionError, ValueError) as error:
                # A missing row makes them fail to unpack it.
                yield f"{check.__name__}: {error}"
    finally:
        world.engine.dispose()


def audit_findings(url: str) -> list[str]:
    """Return the findings of `leasehold-manage audit`, run as an operator runs it."""
    with tempfile.TemporaryDirectory(prefix="leasehold-audit-") as folder:
        config = Path(folder) / "leasehold.conf"
        config.write_text(as_text({"database": {"connection": url}, "cloud": {"driver": "sandbox"}}))
        done = subprocess.run(
            [BIN / "leasehold-manage", "audit", "--json", "--config-file", config],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    if done.returncode == 0 and json.loads(done.stdout)["findings"] == []:
        return []
    return [f"leasehold-manage audit left with {done.returncode}: {done.stdout[-4000:]}{done.stderr[-4000:]}"]
