"""`leasehold-manage power`: the machines of hosts, how long they take to wake up, and what their sleep saves."""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db import schema
from leasehold.features.power.machines import list_machines, wake_times
from leasehold.features.power.report import report

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine

    from leasehold.features.feature import MakeService
    from leasehold.leasing.service import Service

    Lines = Callable[[Service, Namespace], Iterator[str]]

DAYS = 30


def add_command(groups: _SubParsersAction[ArgumentParser], make_service: MakeService) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "hosts that are switched off while nobody needs them"
    inside = groups.add_parser("power", help=text, description=text).add_subparsers(required=True, metavar="VERB")
    commands: tuple[tuple[str, Lines, str], ...] = (
        ("hosts", _hosts, "list the machines of hosts, and where each is between on and off"),
        ("margins", _margins, "show how long the machines of each class take to wake up at most"),
        ("report", _report, "show by day, class and zone what was saved, and what went wrong"),
    )
    for name, lines, about in commands:
        parser = inside.add_parser(name, help=about, description=about)
        parser.set_defaults(run=partial(_run, make_service, lines))
        if lines is _report:
            parser.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"of the last N days, {DAYS}")


def _run(make_service: MakeService, lines: Lines, args: Namespace, engine: Engine) -> int:
    schema.check(engine)
    sys.stdout.writelines(f"{line}\n" for line in lines(make_service(args, engine), args))
    return 0


def _hosts(service: Service, _args: Namespace) -> Iterator[str]:
    found = list_machines(service)
    for each in found:
        since = "" if each.since is None else f" since {each.since:%Y-%m-%d %H:%M:%S}"
        why = "" if each.failure is None else f". It is not switched: {each.failure}"
        yield f"{each.resource.label} ({each.machine.power_class}): {each.stage}{since}{why}"
    if not found:
        yield "No machine can be switched: say how with `leasehold power set`."


def _margins(service: Service, _args: Namespace) -> Iterator[str]:
    found = wake_times(service)
    for name, takes in found.items():
        yield f"{name}: {int(takes.total_seconds())} seconds"
    if not found:
        yield "No class of machines is configured: name some in [power] classes."


def _report(service: Service, args: Namespace) -> Iterator[str]:
    now = service.now()
    rows = report(service, now - timedelta(days=args.days), now)
    for part, saved in rows:
        energy = "unknown energy" if saved.kwh is None else f"{saved.kwh:.2f} kWh"
        wrong = f"{saved.failed_wakes} failed, {saved.called_off} called off, {saved.late_starts} late starts"
        wrong += f", {saved.delayed_requests} requests delayed"
        where = f"{part.power_class}{f' in {part.zone}' if part.zone else ''}"
        yield f"{part.day} {where}: {saved.hours_off:.1f} host hours off, {energy}, {saved.wakes} wakes; {wrong}"
    if not rows:
        yield f"No host has slept in the last {args.days} days."
