"""`allocation list` and `allocation show`: which reservations hosts and other resources are promised to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.base import TalkingLister, TalkingShow, fields
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.part import add_part, asked_part, rows_of
from leasehold_client.cli.shown import show_moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.allocation import Allocation, Booking
    from leasehold_client.cli.base import Talking


_PATH = "/os-hosts/allocations"
"""Those of every other type have the same options."""


def _cells(command: Talking) -> Mapping[str, Callable[[Allocation], object]]:
    """Return the cells of an allocation; for people a line for each booking, the first one first."""
    zone = command.clock.zone

    def line(booking: Booking) -> str:
        times = f"{show_moment(booking.start, zone)} until {show_moment(booking.end, zone)}"
        return f"{times}  lease {booking.lease_id}"

    def bookings(each: Allocation) -> Shown:
        ordered = sorted(each.bookings, key=lambda booking: booking.start)
        return Shown(each.values["reservations"], "\n".join(map(line, ordered)))

    return {"resource_id": lambda each: each.host_id, "reservations": bookings}


class ListAllocations(TalkingLister):
    """List allocations for all resources of a type."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_filters(parser)
        add_part(parser, self.clock, _PATH, ("resource_id",), "resource_id")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        named = {"lease_id": parsed_args.lease_id, "reservation_id": parsed_args.reservation_id}
        part = asked_part(parsed_args, _PATH)
        found = self.client.allocations.list(parsed_args.resource_type, **named, part=part)
        return rows_of(found, _cells(self), parsed_args, part)


class ShowAllocations(TalkingShow):
    """Show allocations of one resource."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_filters(parser)
        parser.add_argument("resource", metavar="RESOURCE", help="ID or name of resource to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        kind, word = parsed_args.resource_type, parsed_args.resource
        found = self.client.allocations.get(
            (self.client.hosts.find(word) if kind is None else self.client.resources.find(kind, word)).id,
            kind,
            lease_id=parsed_args.lease_id,
            reservation_id=parsed_args.reservation_id,
        )
        return fields({title: cell(found) for title, cell in _cells(self).items()})


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "resource_type",
        type=lambda word: None if word == "host" else word,
        metavar="RESOURCE_TYPE",
        help="Show allocations for a resource type: host, or one of resource type list",
    )
    parser.add_argument("--reservation-id", help="Show only allocations with specific reservation_id")
    parser.add_argument("--lease-id", help="Show only allocations with specific lease_id")
