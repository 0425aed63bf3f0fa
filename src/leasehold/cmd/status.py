"""`leasehold-status upgrade check`: says whether this installation is ready for this version.

Output and exit codes are those of OpenStack's upgrade checks: 0 for success, 1 for a warning, 2 for a failure that has
to be repaired first, 255 when the check itself failed.
"""

from __future__ import annotations

import sys
import textwrap
import traceback
from argparse import ArgumentParser
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cmd import database
from leasehold.cmd.database import OperatorError
from leasehold.conf.load import FILE_NAME
from leasehold.db import schema

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

PROG = "leasehold-status"
UNEXPECTED = 255
WIDTH = 80


class CheckResult(IntEnum):
    """How a check went; the number is the exit code."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table: the name of the check, its result, and a sentence about it."""

    name: str
    result: CheckResult
    details: str


def main() -> None:
    """Run the checks and end with the worst result as exit code."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Print the table of checks and return the exit code."""
    parser = ArgumentParser(PROG, description="Tell whether this installation is ready.")
    groups = parser.add_subparsers(required=True, metavar="upgrade")
    text = "whether this version can be started"
    verbs = groups.add_parser("upgrade", help=text, description=text).add_subparsers(required=True, metavar="check")
    database.add_options(verbs.add_parser("check", help=text, description=text))
    args = parser.parse_args(arguments)
    args.prog = PROG
    try:
        checks = list(_checks(args))
    except Exception:  # noqa: BLE001 - Python would end with 1, which here means only a warning.
        traceback.print_exc()
        return UNEXPECTED
    sys.stdout.write(_table(checks))
    return max(check.result for check in checks)


def _checks(args: Namespace) -> Iterator[Check]:
    yield _configuration(args)
    try:
        url = database.database_url(args)
        engine = database.open_database(url)
    except (OperatorError, conf.ConfigurationError) as error:
        yield Check("Database", CheckResult.FAILURE, str(error))
        return
    try:
        with database.explained(url), engine.connect():
            yield Check("Database", CheckResult.SUCCESS, f"{database.hidden(url)} answers.")
    except OperatorError as error:
        yield Check("Database", CheckResult.FAILURE, str(error))
        return
    try:
        with database.explained(url):
            yield Check("Schema", CheckResult.SUCCESS, schema.check(engine))
    except OperatorError as error:
        yield Check("Schema", CheckResult.FAILURE, str(error))
    finally:
        engine.dispose()


def _configuration(args: Namespace) -> Check:
    try:
        config = database.load_config(args)
    except conf.ConfigurationError as error:
        return Check("Configuration", CheckResult.FAILURE, str(error))
    files = ", ".join(config.raw.config_file)
    if files:
        return Check("Configuration", CheckResult.SUCCESS, f"{files} can be used.")
    missing = f"There is no {FILE_NAME} here or in /etc/leasehold, so defaults are used."
    return Check("Configuration", CheckResult.WARNING, missing)


def _table(checks: Sequence[Check]) -> str:
    """Return the rows in a box, with long lines wrapped."""
    rows = [["Upgrade Check Results"]]
    for check in checks:
        lines = (f"Check: {check.name}", f"Result: {check.result.name.title()}", f"Details: {check.details}")
        rows.append([part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ")])
    width = max(len(line) for row in rows for line in row)
    rule = f"+{'-' * (width + 2)}+\n"
    return rule + "".join("".join(f"| {line.ljust(width)} |\n" for line in row) + rule for row in rows)
