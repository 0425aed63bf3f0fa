"""`leasehold-manage audit`: says whether everything in the books agrees."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from leasehold.books import schema
from leasehold.books.store import Books
from leasehold.leasing.audit import audit
from leasehold.leasing.service import utc_now

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction

    from sqlalchemy import Engine

FOUND = 1
"""The exit code when something does not agree."""


def add_command(groups: _SubParsersAction[ArgumentParser]) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "recompute from the tables that nothing is promised twice and no work is lost"
    parser = groups.add_parser("audit", help=text, description=f"{text}. Leaves with 1 when something is found.")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run)


def run(args: Namespace, engine: Engine) -> int:
    """Audit the books and print what does not agree."""
    schema.check(engine)
    with Books(engine).reading() as connection:
        findings = audit(connection, utc_now())
    if args.json:
        sys.stdout.write(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2) + "\n")
    elif findings:
        sys.stdout.writelines(f"{finding.what} {finding.remedy}\n" for finding in findings)
    else:
        sys.stdout.write("All that is in the books agrees.\n")
    return FOUND if findings else 0
