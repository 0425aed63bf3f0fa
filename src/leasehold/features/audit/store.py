"""The last round of the periodic audit: one row, and a row for each of its findings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, String, Text, delete, insert, select, update

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.audit.model import AuditRound, Reported
from leasehold.model.finding import Finding, FindingKind, Mend

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

# One row: the last round of the periodic audit that began.
audit_rounds = table(
    "audit_rounds",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("failure", Text),
)

# What the last complete round has found, in its order.
audit_findings = table(
    "audit_findings",
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("resource_type", String(66)),
    Column("what", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("mend", String(20)),
    Column("repaired", Text),
    Column("found_at", UtcDateTime, nullable=False),
)

_THE_ROW = 1


def begin_round(connection: Connection, now: datetime) -> None:
    """Record that a round begins."""
    values = {"began_at": now, "ended_at": None, "failure": None}
    if not connection.execute(update(audit_rounds).values(values)).rowcount:
        connection.execute(insert(audit_rounds), {"id": _THE_ROW, **values})


def fail_round(connection: Connection, now: datetime, failure: str) -> None:
    """Record why the round could not be completed; the findings of the round before stay."""
    connection.execute(update(audit_rounds).values(ended_at=now, failure=failure))


def end_round(connection: Connection, now: datetime, found: Sequence[tuple[Finding, str | None]]) -> None:
    """Record what the round has found, and what was done about each finding, in place of what the last one found."""
    since = {(each.finding.kind, each.finding.subject): each.found_at for each in _findings(connection)}
    connection.execute(delete(audit_findings))
    if found:
        rows = [
            {
                **asdict(finding),
                "position": position,
                "kind": finding.kind.value,
                "mend": finding.mend and finding.mend.value,
                "repaired": repaired,
                "found_at": since.get((finding.kind, finding.subject), now),
            }
            for position, (finding, repaired) in enumerate(found)
        ]
        connection.execute(insert(audit_findings), rows)
    connection.execute(update(audit_rounds).values(ended_at=now, failure=None))


def last_round(connection: Connection) -> AuditRound | None:
    """Return the last round with the findings of the last complete one; None before the first."""
    row = connection.execute(select(audit_rounds)).first()
    if row is None:
        return None
    return AuditRound(row.began_at, row.ended_at, row.failure, tuple(_findings(connection)))


def _findings(connection: Connection) -> list[Reported]:
    rows = connection.execute(select(audit_findings).order_by(audit_findings.c.position))
    return [
        Reported(
            Finding(
                FindingKind(row.kind),
                row.subject,
                row.what,
                row.remedy,
                None if row.mend is None else Mend(row.mend),
                row.resource_type,
            ),
            row.found_at,
            row.repaired,
        )
        for row in rows
    ]
