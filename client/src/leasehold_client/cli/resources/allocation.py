"""`allocation list` and `allocation show`: which reservations hosts and other resources are promised to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingLister, TalkingShow, fields
from leasehold_client.cli.command.part import add_part, asked_part, rows_of
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.allocation import Allocation
    from leasehold_client.cli.command.base import Talking


_PATH = "/os-hosts/allocations"
"""Those of every other type have the same options."""


def _bookings(command: Talking, found: Allocation) -> Shown:
    """Return the cell of the bookings; for people a line for each of them, the first one first."""
    zone = command.clock.zone
    lines = [
        f"{show_moment(each.start, zone)} until {show_moment(each.end, zone)}  lease {each.lease_id}"
        for each in sorted(found.bookings, key=lambda booking: booking.start)
    ]
    return Shown(found.values["reservations"], "\n".join(lines))


_CELLS: Mapping[str, Callable[[Talking, Allocation], object]] = {
    "resource_id": lambda _, found: found.host_id,
    "reservations": _bookings,
}


class ListAllocations(TalkingLister):
    """List allocations for all resources of a type."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_filters(parser)
        add_part(parser, self.clock, _PATH, ("resource_id",), "resource_id")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        named = {"lease_id": parsed_args.lease_id, "reservation_id": parsed_args.reservation_id}
        part = asked_part(parsed_args, _PATH)
        found = self.client.allocations.list(parsed_args.resource_type, **named, part=part)
        return rows_of(self, found, _CELLS, parsed_args, part)


class ShowAllocations(TalkingShow):
    """Show allocations of one resource."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_filters(parser)
        parser.add_argument("resource", metavar="RESOURCE", help="ID or name of resource to look up")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        kind, word = parsed_args.resource_type, parsed_args.resource
        found = self.client.allocations.get(
            (self.client.hosts.find(word) if kind is None else self.client.resources.find(kind, word)).id,
            kind,
            lease_id=parsed_args.lease_id,
            reservation_id=parsed_args.reservation_id,
        )
        return fields({title: cell(self, found) for title, cell in _CELLS.items()})


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "resource_type",
        type=lambda word: None if word == "host" else word,
        metavar="RESOURCE_TYPE",
        help="Show allocations for a resource type: host, or one of resource type list",
    )
    parser.add_argument("--reservation-id", help="Show only allocations with specific reservation_id")
    parser.add_argument("--lease-id", help="Show only allocations with specific lease_id")
