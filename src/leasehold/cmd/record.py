"""`leasehold-manage record`: what reservations held, from when to when, for reports and questions about the past."""

from __future__ import annotations

import csv
import json
import sys
from argparse import ArgumentTypeError
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leasehold.cmd.database import OperatorError
from leasehold.db import schema
from leasehold.db.clock import shared_clock
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.db.store import Database

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Engine

    from leasehold.model.segment import Segment

COLUMNS = (
    *("resource", "resource_type", "slots", "demand", "start", "end", "seconds", "start_cause", "end_cause"),
    *("project_id", "user_id", "lease_id", "reservation_id", "purpose"),
)
ABOUT = (
    "Each row is a time in which a reservation held a resource without a change. While the resource is still held, its "
    "row has no end. `seconds` is how long it was held between --since and --until. Times are in UTC."
)


def add_command(groups: _SubParsersAction[ArgumentParser]) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "list what was held, by whom and from when to when"
    parser = groups.add_parser("record", help=text, description=f"{text}. {ABOUT}")
    parser.add_argument("--lease", type=_text, metavar="ID", help="only what this lease held")
    parser.add_argument("--project", type=_text, metavar="ID", help="only what leases of this project held")
    parser.add_argument("--resource", type=_text, metavar="NAME", help="only this host or address")
    parser.add_argument("--since", type=_moment, metavar="TIME", help="only what was held later, as 2031-05-01 09:00")
    parser.add_argument("--until", type=_moment, metavar="TIME", help="only what was held earlier")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", dest="form", action="store_const", const=_json, help="print JSON")
    form.add_argument("--csv", dest="form", action="store_const", const=_csv, help="print CSV")
    parser.set_defaults(run=run, form=_table)


def _text(text: str) -> str:
    if not text or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} may not be empty or hold characters that cannot be printed")
    return text


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is no time: write it as 2031-05-01 or 2031-05-01T09:00+02:00") from None


def run(args: Namespace, engine: Engine) -> int:
    """Print the segments that the options ask for."""
    schema.check(engine)
    if args.since is not None and args.until is not None and args.since >= args.until:
        raise OperatorError("Nothing lies between these times: --since has to be earlier than --until.")
    question = SegmentFilter(args.lease, args.project, args.resource, args.since, args.until)
    now = shared_clock(engine)()
    with Database(engine).reading() as connection:
        found = each_segment(connection, question, now)
        sys.stdout.writelines(args.form(_row(each, question) for each in found))
    return 0


def _row(segment: Segment, question: SegmentFilter) -> dict[str, Any]:
    """Return a segment as the values of `COLUMNS`; times are ISO 8601 in UTC."""
    return {
        "resource": segment.label,
        "resource_type": segment.resource_type,
        "slots": segment.slots,
        "demand": None if segment.demand is None else dict(segment.demand),
        "start": _written(segment.window.start),
        "end": None if segment.open else _written(segment.window.end),
        "seconds": int(segment.within(question.since, question.until).total_seconds()),
        "start_cause": segment.start_cause,
        "end_cause": segment.end_cause,
        "project_id": segment.project_id,
        "user_id": segment.user_id,
        "lease_id": segment.lease_id,
        "reservation_id": segment.reservation_id,
        "purpose": segment.purpose,
    }


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _json(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a JSON array of one object for each row; what was read is not kept."""
    before = "["
    for row in rows:
        yield f"{before}\n  {json.dumps(row)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


class _Line:
    """What `csv.writer` writes to: keeps the last line."""

    def write(self, text: str) -> None:
        self.text = text


def _csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a line of titles and one for each row; what is unknown or not over is empty."""
    line = _Line()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(COLUMNS)
    yield line.text
    for row in rows:
        writer.writerow(_cells(row))
        yield line.text


def _table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield aligned lines; all rows are read first."""
    cells = [COLUMNS, *(_cells(row) for row in rows)]
    if len(cells) == 1:
        yield "Nothing was held.\n"
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    demand = row["demand"] and " ".join(f"{name}:{amount}" for name, amount in sorted(row["demand"].items()))
    return tuple("" if value is None else str(value) for value in {**row, "demand": demand}.values())
