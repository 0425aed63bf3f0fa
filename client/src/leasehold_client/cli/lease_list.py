"""`lease list` and `lease show`."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, add_sorting, fields, sorted_rows
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.shown import how_long, what

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold_client.lease import Lease

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
        "reservations": _in_full(lease.values["reservations"]),
    }
    shown = {key: value for key, value in first.items() if value not in (None, "")}
    return shown | {
        key: _plain(value) for key, value in sorted(lease.values.items()) if key not in first and value is not None
    }


def _plain(value: Any) -> object:
    return _in_full(value) if isinstance(value, list | dict) else value


def _in_full(value: Any) -> Shown:
    """Return a cell of nested values: indented JSON for people."""
    return Shown(value, json.dumps(value, indent=1))
