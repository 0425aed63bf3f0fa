"""`lease resources`: what a lease has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.base import TalkingLister, add_sorting, sorted_rows
from leasehold_client.cli.lease_list import add_lease

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.lease import Holding

COLUMNS = ("name", "id", "resource_type", "health", "slots", "start_date", "end_date", "reservation_id")


class ListHoldings(TalkingLister):
    """Print what a lease has, how it is, and from when until when; who may not list hosts sees no names of them."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease")
        add_sorting(parser, COLUMNS, "name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.leases.resources(self.client.leases.find(parsed_args.lease).id)
        return sorted_rows(found, self._cells(), parsed_args.sort_by)

    def _cells(self) -> Mapping[str, Callable[[Holding], object]]:
        return {
            "name": lambda each: each.name,
            "id": lambda each: each.id,
            "resource_type": lambda each: each.resource_type,
            "health": lambda each: each.health,
            "slots": lambda each: each.slots,
            "start_date": lambda each: self.moment(each.start),
            "end_date": lambda each: self.moment(each.end),
            "reservation_id": lambda each: each.reservation_id,
        }
