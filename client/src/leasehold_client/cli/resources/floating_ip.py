"""`floatingip list`, `floatingip show`, `floatingip create` and `floatingip delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import ListThings, ThingKind, plain_fields
from leasehold_client.cli.resources.host import add_projects

if TYPE_CHECKING:
    import argparse

    from leasehold_client.floating_ip import FloatingIp

_KIND: ThingKind[FloatingIp] = ThingKind(
    "floatingip",
    "/floatingips",
    lambda client, _: client.floating_ips,
    {
        **attributes("id"),
        "floating_ip_address": lambda _, each: each.address,
        "floating_network_id": lambda _, each: each.network_id,
    },
)


class ListFloatingIps(ListThings):
    """Print a list of floating IPs."""

    kind = _KIND


class ShowFloatingIp(TalkingShow):
    """Show floating IP details."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_floating_ip(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(plain_fields(self.client.floating_ips.get(parsed_args.floatingip)))


class CreateFloatingIp(TalkingShow):
    """Enrol a floating IP, so that it can be leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("network", metavar="NETWORK_ID", help="External network ID to which the address belongs")
        parser.add_argument("address", metavar="FLOATING_IP_ADDRESS", help="Floating IP address to add")
        add_projects(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        where, for_whom = (parsed_args.network, parsed_args.address), (parsed_args.projects, parsed_args.owner)
        made = self.client.floating_ips.create(*where, *for_whom)
        return fields(plain_fields(made))


class DeleteFloatingIp(Talking):
    """Remove a floating IP from those that can be leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_floating_ip(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.floating_ips.delete(parsed_args.floatingip)
        self.app.stdout.write(f"Deleted floatingip: {parsed_args.floatingip}\n")


def _add_floating_ip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("floatingip", metavar="FLOATING_IP", help="ID of floating IP")
