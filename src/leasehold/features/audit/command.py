"""`leasehold-manage audit`: checks the database for contradictions, and compares the cloud with it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cloud.ports import CloudError
from leasehold.db import schema
from leasehold.db.clock import shared_clock
from leasehold.db.store import Database
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.audit.database import Received, audit_database, audit_received
from leasehold.features.audit.repair import repair
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from leasehold.features.feature import MakeService
    from leasehold.model.finding import Finding

NOT_ASKED = "It was left alone, as asked."
FOUND = 1
"""The exit code when there is a finding that was not repaired."""
HALF = 3
"""The exit code when there are no findings, but the cloud could not be read."""
EXIT_CODES = (
    f"Exit codes: 0 no findings, or --repair has repaired all of them; {FOUND} findings that are not repaired; "
    f"{HALF} no findings in the database, but the cloud could not be read."
)


@dataclass(frozen=True, slots=True)
class _Report:
    """The findings, each with its repair if there was one, and why the cloud was not looked at, if it was not."""

    findings: list[tuple[Finding, str | None]]
    unseen: str | None

    @property
    def code(self) -> int:
        """The exit code."""
        if any(done is None for _, done in self.findings):
            return FOUND
        return 0 if self.unseen in (None, NOT_ASKED) else HALF


def add_command(groups: _SubParsersAction[ArgumentParser], make_service: MakeService) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "check that nothing is allocated twice, that no work is lost, and that the cloud matches the database"
    parser = groups.add_parser("audit", help=text, description=f"{text}. {EXIT_CODES}")
    parser.add_argument("--repair", action="store_true", help="repair what needs no decision by a person, and say how")
    parser.add_argument("--database-only", action="store_true", help="do not look at the cloud")
    kept = "CloudEvents that a receiver has kept, one a line: leases in them that the database has lost are named"
    parser.add_argument("--received", type=_events, metavar="FILE", default=[], help=kept)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=partial(run, make_service))


def run(make_service: MakeService, args: Namespace, engine: Engine) -> int:
    """Audit the database and the cloud, repair the findings with `--repair`, and print them."""
    schema.check(engine)
    report = _look(make_service, args, engine)
    if args.json:
        _print_json(report)
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(report, database_only=args.database_only))
    return report.code


def _look(make_service: MakeService, args: Namespace, engine: Engine) -> _Report:
    with Database(engine).reading() as connection:
        now = shared_clock(engine)()
        found = [*audit_database(connection, now), *audit_received(connection, args.received, now)]
    service, unseen = None, NOT_ASKED if args.database_only else None
    try:
        if args.repair or not args.database_only:
            service = make_service(args, engine)
        if service is not None and not args.database_only:
            found += audit_cloud(service, Pace())
    except (CloudError, conf.ConfigurationError, PluginError) as error:
        unseen = str(error)
    mended = [None if service is None or not args.repair else repair(service, finding) for finding in found]
    return _Report(list(zip(found, mended, strict=True)), unseen)


def _events(path: str) -> list[Received]:
    """Read the events of leases; the rest is of no use to the audit."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"{path} cannot be read: {error}. Name a file of text.") from error
    return [found for number, line in enumerate(lines, start=1) if line.strip() for found in _event(path, number, line)]


def _event(path: str, number: int, line: str) -> Iterator[Received]:
    try:
        event = json.loads(line)
        if event["subject"].startswith("leases/"):
            data = event["data"]
            time, end = map(datetime.fromisoformat, (event["time"], data["end_date"]))
            if time.tzinfo is None or end.tzinfo is None:
                raise ValueError(line)  # noqa: TRY301 - the sentence below is about this as well.
            yield Received(time, str(event["type"]), str(data["lease_id"]), str(data["project_id"]), end)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"line {number} of {path} is no CloudEvent of this service: each line has one, as the webhook got it."
        raise ArgumentTypeError(message) from error


def _print_json(report: _Report) -> None:
    findings = [{**asdict(finding), "mended": done} for finding, done in report.findings]
    cloud = {"looked_at": report.unseen is None, "reason": report.unseen}
    sys.stdout.write(json.dumps({"findings": findings, "cloud": cloud}, indent=2) + "\n")


def _lines(report: _Report, *, database_only: bool) -> Iterator[str]:
    for finding, done in report.findings:
        yield f"{finding.what} {finding.remedy if done is None else done}"
    if report.unseen is not None and not database_only:
        yield f"The cloud was not looked at: {report.unseen}"
    if not report.findings:
        yield (
            "No differences within the database."
            if report.unseen
            else "No differences between the database and the cloud."
        )
