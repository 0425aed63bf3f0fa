"""`host list`, `host show`, `host create`, `host set`, `host unset` and `host delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli import typed
from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, add_sorting, fields, sorted_rows
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.host import Host

_CELLS: Mapping[str, Callable[[Host], object]] = {
    "id": lambda host: host.id,
    "hypervisor_hostname": lambda host: host.name,
    "vcpus": lambda host: host.vcpus,
    "memory_mb": lambda host: host.memory_mb,
    "local_gb": lambda host: host.local_gb,
    "reservable": lambda host: host.reservable,
}


class ListHosts(TalkingLister):
    """Print a list of hosts."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_sorting(parser, _CELLS, "hypervisor_hostname")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return sorted_rows(self.client.hosts.list(), _CELLS, parsed_args.sort_by)


class ShowHost(TalkingShow):
    """Show host details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser, "ID or name of host to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(_shown(self.client.hosts.find(parsed_args.host)))


class CreateHost(TalkingShow):
    """Enrol a host, so that it can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser, "Name of the host to add")
        _add_extra(parser, "Extra capabilities key/value pairs to add for the host; may be repeated")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(_shown(self.client.hosts.create(parsed_args.host, dict(parsed_args.extra))))


class SetHost(Talking):
    """Update properties of a host, or take it out of service and put it back."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser, "ID or name of host to update")
        _add_extra(parser, "Extra capabilities key/value pairs to update for the host; may be repeated")
        service = parser.add_mutually_exclusive_group()
        service.add_argument("--disable", metavar="<reason>", help="lease it to nobody but administrators")
        service.add_argument("--enable", action="store_true", help="lease it again")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        values: dict[str, Any] = dict(parsed_args.extra)
        if parsed_args.disable is not None:
            values |= {"disabled": True, "disabled_reason": parsed_args.disable}
        if parsed_args.enable:
            values |= {"disabled": False, "disabled_reason": ""}
        if not values:
            raise ClientError("Say what to set: --extra KEY=VALUE, --disable REASON or --enable.")
        self.client.hosts.change(self.client.hosts.find(parsed_args.host).id, values)
        self.app.stdout.write(f"Updated host: {parsed_args.host}\n")


class UnsetHost(Talking):
    """Remove properties of a host."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser, "ID or name of host to update")
        parser.add_argument(
            "--extra", action="append", required=True, metavar="<key>", help="Property to remove; may be repeated"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.hosts.change(self.client.hosts.find(parsed_args.host).id, dict.fromkeys(parsed_args.extra))
        self.app.stdout.write(f"Updated host: {parsed_args.host}\n")


class DeleteHost(Talking):
    """Remove a host from those that can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_host(parser, "ID or name of host to delete")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.hosts.delete(self.client.hosts.find(parsed_args.host).id)
        self.app.stdout.write(f"Deleted host: {parsed_args.host}\n")


def _shown(host: Host) -> dict[str, object]:
    return {key: value for key, value in sorted(host.values.items()) if value is not None}


def _add_host(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("host", metavar="HOST", help=text)


def _add_extra(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--extra", action="append", default=[], type=typed.key_value, metavar="<key=value>", help=text)
