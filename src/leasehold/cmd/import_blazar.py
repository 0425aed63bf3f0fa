"""`leasehold-manage import-blazar`: imports Blazar's database, and reports every row that needs a look."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from leasehold.cmd.database import FORMS, OperatorError, explained
from leasehold.db import schema
from leasehold.db.clock import shared_clock
from leasehold.db.store import Database
from leasehold.takeover.findings import TakeoverError
from leasehold.takeover.plan import make_plan
from leasehold.takeover.source import read_blazar
from leasehold.takeover.write import done_before, write_plan

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from leasehold.takeover.plan import ImportPlan
    from leasehold.takeover.rows import BlazarRows

SOURCE_VARIABLE = "BLAZAR_DATABASE_URL"
STOPPED = (
    "Blazar has to be stopped before the import and stay stopped: what it does afterwards is not in this database, and "
    "two services on one cloud undo each other's work."
)


def add_command(groups: _SubParsersAction[ArgumentParser]) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "take over from Blazar: copy its database, which is only read, into a new database"
    parser = groups.add_parser("import-blazar", help=text, description=f"{text}. {STOPPED}")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="URL",
        default=os.environ.get(SOURCE_VARIABLE),
        help=f"Blazar's database, as [database] connection of its blazar.conf; default: {SOURCE_VARIABLE}, "
        "which keeps the password out of the list of processes",
    )
    parser.add_argument("--dry-run", action="store_true", help="only report what would be done")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: Namespace, engine: Engine) -> int:
    """Import, or with `--dry-run` only look, and print the report."""
    schema.check(engine)
    db, now = Database(engine), shared_clock(engine)()
    try:
        rows, others = _read(args.source)
        plan = make_plan(rows, now)
        if args.dry_run:
            with db.reading() as connection:
                there = done_before(connection, plan)
        else:
            there = not write_plan(db, plan, now)
    except TakeoverError as error:
        raise OperatorError(str(error)) from None
    report = _as_json if args.json else _as_text
    for line in report(plan, there=there, dry_run=args.dry_run, others=others):
        sys.stdout.write(f"{line}\n")
    return 0


def _read(url: str | None) -> tuple[BlazarRows, int]:
    if not url:
        raise OperatorError(f"Say where Blazar's database is: --from URL, or {SOURCE_VARIABLE} in the environment.")
    try:
        with explained(url):
            return read_blazar(url)
    except (ArgumentError, NoSuchModuleError, ImportError):
        # The URL is not repeated, because an invalid one may have the password anywhere.
        raise OperatorError(f"The URL of Blazar's database cannot be used. Write it as {FORMS}.") from None


def _as_json(plan: ImportPlan, *, there: bool, dry_run: bool, others: int) -> Iterator[str]:
    yield json.dumps(
        {
            "dry_run": dry_run,
            "changed": not (there or dry_run),
            "other_connections": others,
            "counts": dict(plan.counts),
            "findings": [asdict(finding) for finding in plan.findings],
        },
        indent=2,
    )


def _as_text(plan: ImportPlan, *, there: bool, dry_run: bool, others: int) -> Iterator[str]:
    if there:
        yield "The database holds all of this already, so nothing was changed."
        return
    for finding in plan.findings:
        yield f"{finding.table} {finding.id}"
        yield f"    {finding.what}"
        yield f"    To do: {finding.remedy}"
    if plan.findings:
        yield ""
    yield "Would be imported:" if dry_run else "Imported:"
    for name, number in plan.counts.items():
        yield f"  {number:>9}  {name}"
    yield (
        f"{len(plan.findings)} rows need a look, see above." if plan.findings else "Every row could be taken as it is."
    )
    if others:
        yield f"{others} other connections to that database are open: make sure that Blazar is not one of them."
    yield STOPPED
