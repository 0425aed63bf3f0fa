"""`lease resources`: what a lease has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingLister, add_sorting, attributes, sorted_rows
from leasehold_client.cli.leases.lease_list import add_lease

if TYPE_CHECKING:
    import argparse

_CELLS = attributes("name", "id", "resource_type", "health", "slots", "start_date", "end_date", "reservation_id")


class ListHoldings(TalkingLister):
    """Print what a lease has, how it is, and from when until when; who may not list hosts sees no names of them."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease")
        add_sorting(parser, _CELLS, "name")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.leases.resources(self.client.leases.find(parsed_args.lease).id)
        return sorted_rows(self, found, _CELLS, parsed_args.sort_by)
