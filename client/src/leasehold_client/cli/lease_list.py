"""`lease list` and `lease show`."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, add_sorting, fields, sorted_rows
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.shown import how_long, show_moment, what, what_of
from leasehold_client.wire import read_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold_client.lease import Lease, Reservation

COLUMNS = ("id", "name", "status", "what", "start_date", "end_date", "how_long")


class ListLeases(TalkingLister):
    """Print a list of leases: their status, what they are of, from when, until when, and how long still."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_sorting(parser, COLUMNS, "start_date")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return sorted_rows(self.client.leases.list(), self._cells(), parsed_args.sort_by)

    def _cells(self) -> Mapping[str, Callable[[Lease], object]]:
        return {
            "id": lambda lease: lease.id,
            "name": lambda lease: lease.name,
            "status": lambda lease: lease.status,
            "what": what,
            "start_date": lambda lease: self.moment(lease.start),
            "end_date": lambda lease: self.moment(lease.end),
            "how_long": partial(time_left, now=self.clock.now()),
        }


class ShowLease(TalkingShow):
    """Show details about the given lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(lease_fields(self, self.client.leases.find(parsed_args.lease)))


def add_lease(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the argument that names a lease."""
    parser.add_argument("lease", metavar="LEASE", help=text)


def time_left(lease: Lease, now: datetime) -> Shown:
    """Return the cell that says how long still; for programs the seconds until the end, and none when it is over."""
    text = how_long(lease, now)
    return Shown(int((lease.end - now).total_seconds()) if text else None, text)


def lease_fields(command: Talking, lease: Lease) -> dict[str, object]:
    """Return what is shown of one lease: what matters first, then all else that the service says."""
    first: dict[str, object] = {
        "name": lease.name,
        "id": lease.id,
        "status": lease.status,
        "status_reason": lease.status_reason,
        "what": what(lease),
        "start_date": command.moment_and_distance(lease.start),
        "end_date": command.moment_and_distance(lease.end),
        "how_long": time_left(lease, command.clock.now()),
        "reservations": Shown(lease.values["reservations"], "\n".join(map(_reservation, lease.reservations))),
        "events": Shown(lease.values["events"], "\n".join(_event(command, each) for each in lease.values["events"])),
    }
    shown = {key: value for key, value in first.items() if value not in (None, "")}
    rest = {key: value for key, value in sorted(lease.values.items()) if key not in first and value is not None}
    return shown | {key: _plain(value) for key, value in rest.items()}


def _plain(value: Any) -> object:
    return Shown(value, json.dumps(value)) if isinstance(value, list | dict) else value


def _reservation(part: Reservation) -> str:
    """Return a reservation for people: what it asks for, its id and how it is."""
    missing = ", resources are missing" if part.values.get("missing_resources") else ""
    return f"{part.id}  {what_of(part)}, {part.status}{missing}"


def _event(command: Talking, values: Mapping[str, Any]) -> str:
    """Return a moment of the lease for people; events that a client has added have no time."""
    time = values["time"]
    when = "" if time is None else f"{show_moment(read_time(time), command.clock.zone)}  "
    return f"{when}{values['event_type']} {values['status'] or ''}".rstrip()
