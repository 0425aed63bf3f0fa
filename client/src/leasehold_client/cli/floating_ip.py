"""`floatingip list`, `floatingip show`, `floatingip create` and `floatingip delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, fields
from leasehold_client.cli.host import add_projects
from leasehold_client.cli.part import add_part, asked_part, rows_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.floating_ip import FloatingIp

_PATH = "/floatingips"
_CELLS: Mapping[str, Callable[[FloatingIp], object]] = {
    "id": lambda each: each.id,
    "floating_ip_address": lambda each: each.address,
    "floating_network_id": lambda each: each.network_id,
}


class ListFloatingIps(TalkingLister):
    """Print a list of floating IPs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_part(parser, self.clock, _PATH, _CELLS, "id")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        part = asked_part(parsed_args, _PATH)
        return rows_of(self.client.floating_ips.list(part), _CELLS, parsed_args, part)


class ShowFloatingIp(TalkingShow):
    """Show floating IP details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_floating_ip(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(_shown(self.client.floating_ips.get(parsed_args.floatingip)))


class CreateFloatingIp(TalkingShow):
    """Enrol a floating IP, so that it can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("network", metavar="NETWORK_ID", help="External network ID to which the address belongs")
        parser.add_argument("address", metavar="FLOATING_IP_ADDRESS", help="Floating IP address to add")
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        where, for_whom = (parsed_args.network, parsed_args.address), (parsed_args.projects, parsed_args.owner)
        made = self.client.floating_ips.create(*where, *for_whom)
        return fields(_shown(made))


class DeleteFloatingIp(Talking):
    """Remove a floating IP from those that can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_floating_ip(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.floating_ips.delete(parsed_args.floatingip)
        self.app.stdout.write(f"Deleted floatingip: {parsed_args.floatingip}\n")


def _shown(address: FloatingIp) -> dict[str, object]:
    return {key: value for key, value in sorted(address.values.items()) if value is not None}


def _add_floating_ip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("floatingip", metavar="FLOATING_IP", help="ID of floating IP")
