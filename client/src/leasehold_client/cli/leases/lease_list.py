"""`lease list` and `lease show`."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.wire import read_time
from leasehold_client.cli.command.base import Talking, TalkingLister, TalkingShow, attributes, fields
from leasehold_client.cli.command.part import add_part, asked_part, rows_of
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import NO_END, boots, how_long, show_both, show_moment, what, what_of
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.times import PAST_MOMENTS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold_client.lease import Lease, Reservation

_TIMES = frozenset({"created_at", "updated_at", "deadline"})
_PATH = "/leases"


def time_left(lease: Lease, now: datetime) -> Shown:
    """Return the cell that says how long still; for programs the seconds until the end, and none when it is over."""
    text = how_long(lease, now)
    return Shown(int((lease.end - now).total_seconds()) if text and not lease.open_ended else None, text)


def end_of(command: Talking, lease: Lease, *, distance: bool = False) -> Shown:
    """Return the cell of the end of a lease, with `distance` also how far away it is; none if it is open-ended."""
    if lease.open_ended:
        return Shown(None, NO_END)
    return command.moment_and_distance(lease.end) if distance else command.moment(lease.end)


_CELLS: Mapping[str, Callable[[Talking, Lease], object]] = {
    **attributes("id", "name", "status"),
    "what": lambda _, lease: what(lease),
    **attributes("start_date"),
    "end_date": end_of,
    "how_long": lambda command, lease: time_left(lease, command.clock.now()),
}
_WHOSE: Mapping[str, Callable[[Talking, Lease], object]] = {
    **attributes("project_id"),
    "user_id": lambda _, lease: lease.values["user_id"],
    **attributes("purpose"),
}


class ListLeases(TalkingLister):
    """Print a list of leases: their status, what they are of, from when, until when, and how long still."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_part(parser, self.clock, _PATH, _CELLS, "start_date")
        parser.add_argument("--long", action="store_true", help="with the project, the user and the purpose of each")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        part = asked_part(parsed_args, _PATH)
        cells = {**_CELLS, **_WHOSE} if parsed_args.long else _CELLS
        return rows_of(self, self.client.leases.list(part), cells, parsed_args, part)


class ShowLease(TalkingShow):
    """Show details about the given lease."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease to look up")
        parser.add_argument(
            "--as-of",
            type=typed.past_of(self.clock),
            metavar="<time>",
            help=f"show it as it was then, also if it was deleted since; {PAST_MOMENTS}",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        leases, named, moment = self.client.leases, parsed_args.lease, parsed_args.as_of
        found = leases.find(named) if moment is None else leases.get(leases.id_of_any(named), moment)
        if moment is None and named != found.id:
            # The list in which a name is looked up does not say where the lease stands, nor what it costs.
            found = leases.get(found.id)
        return fields(lease_fields(self, found))


def add_lease(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the argument that names a lease."""
    parser.add_argument("lease", metavar="LEASE", help=text)


def lease_fields(command: Talking, lease: Lease) -> dict[str, object]:
    """Return what is shown of one lease: what matters first, then all else that the service says."""
    commands = "\n".join(boots(lease))
    first: dict[str, object] = {
        "name": lease.name,
        "id": lease.id,
        "status": lease.status,
        "status_reason": lease.status_reason,
        "in_line": _in_line(command, lease),
        "what": what(lease),
        "purpose": lease.purpose,
        "start_date": command.moment_and_distance(lease.start),
        "end_date": end_of(command, lease, distance=True),
        "how_long": time_left(lease, command.clock.now()),
        "cost": cost_of(lease),
        "reservations": Shown(lease.values["reservations"], "\n".join(map(_reservation, count(1), lease.reservations))),
        "boot": Shown(commands, commands) if commands else None,
        "events": Shown(lease.values["events"], "\n".join(_event(command, each) for each in lease.values["events"])),
    }
    shown = {key: value for key, value in first.items() if value not in (None, "")}
    rest = {key: value for key, value in sorted(lease.values.items()) if key not in first and value is not None}
    return shown | {key: _plain(command, key, value) for key, value in rest.items()}


def _plain(command: Talking, key: str, value: Any) -> object:
    if key in _TIMES:
        return command.moment_and_distance(read_time(value))
    return Shown(value, json.dumps(value)) if isinstance(value, list | dict) else value


def tried_fields(command: Talking, lease: Lease) -> dict[str, object]:
    """Return what a dry run says; the ids of a new lease mean nothing."""
    start, end, cost = command.moment_and_distance(lease.start), end_of(command, lease, distance=True), cost_of(lease)
    shown = {"name": lease.name, "would_be_granted": True, "what": what(lease), "start_date": start}
    return {**shown, "end_date": end, **({} if cost is None else {"cost": cost})}


def cost_of(lease: Lease) -> Shown | None:
    """Return what a lease costs, where it costs anything; of one that is only tried nothing has passed."""
    found = lease.values.get("cost")
    if found is None:
        return None
    total, more, unit = found["total"], found["more"], found["unit"]
    ways = [] if total is None else [f"{total} {unit}"]
    if more is None:
        ways.append(f"{found['passed']} {unit} so far")
    elif more != total:
        ways.append(f"{more.removeprefix('-')} {unit} {'less' if more.startswith('-') else 'more'} than now")
    return Shown(found, ", ".join(ways))


def _in_line(command: Talking, lease: Lease) -> Shown | None:
    """Return where a lease stands that waits, when it is expected to start or why nobody knows, and why there."""
    found = lease.values.get("in_line")
    if found is None:
        return None
    expected = found["expected_at"]
    if expected is None:
        start = f"Nobody knows when it starts: {found['unknown']}"
    else:
        moment = show_both(read_time(expected), command.clock.now(), command.clock.zone)
        start = f"Expected to start {moment}, if this holds: {found['assumes']}"
    return Shown(found, f"{found['position']}, with {found['ahead']} ahead of it. {start}\n{found['reason']}")


def _reservation(number: int, part: Reservation) -> str:
    """Return a reservation for people: its number and id, what it asks for and how it is."""
    missing = ", resources are missing" if part.values.get("missing_resources") else ""
    default = "" if part.without_defaults is None else f", not all with the default properties {part.without_defaults}"
    return f"{number}  {part.id}  {what_of(part)}, {part.status}{missing}{default}"


def _event(command: Talking, values: Mapping[str, Any]) -> str:
    """Return a moment of the lease for people; events that a client has added have no time."""
    time = values["time"]
    when = "" if time is None else f"{show_moment(read_time(time), command.clock.zone)}  "
    return f"{when}{values['event_type']} {values['status'] or ''}".rstrip()
