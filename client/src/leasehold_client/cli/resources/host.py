"""`host list`, `host show`, `host create`, `host set`, `host unset` and `host delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli.command.base import TalkingShow, attributes, fields
from leasehold_client.cli.command.things import ChangeThing, DeleteThing, ListThings, ShowThing, ThingKind, plain_fields
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_repeated
from leasehold_client.cli.reading.pairs import each_once
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse

    from leasehold_client.cli.reading.lease_options import Adds
    from leasehold_client.host import Host

CHANGES = "--disable REASON, --enable, --pool, --project, --all-projects, --owner or --no-owner"
"""The options of what may change of every resource, for a message."""
_KIND: ThingKind[Host] = ThingKind(
    "host",
    "/os-hosts",
    lambda client, _: client.hosts,
    {
        **attributes("id"),
        "hypervisor_hostname": lambda _, host: host.name,
        **attributes("vcpus", "memory_mb", "local_gb", "reservable"),
    },
    by="hypervisor_hostname",
    argument="ID or name of {noun} {purpose}",
)


class ListHosts(ListThings):
    """Print a list of hosts."""

    kind = _KIND


class ShowHost(ShowThing):
    """Show host details."""

    kind = _KIND

    def shown(self, found: Host) -> dict[str, object]:
        return plain_fields(found)


class CreateHost(TalkingShow):
    """Enrol a host, so that it can be leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", help="Name of the host to add")
        _add_extra(parser, "Extra capabilities key/value pairs to add for the host; may be repeated")
        add_pool(parser, "the pool that it is in; a host of the shared one may have servers (default: reservation)")
        add_projects(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        values = each_once(parsed_args.extra) | ({} if parsed_args.pool is None else {"pool": parsed_args.pool})
        values |= named_projects(parsed_args)
        return fields(plain_fields(self.client.hosts.create(parsed_args.host, values)))


class SetHost(ChangeThing):
    """Update properties of a host, or take it out of service and put it back."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        _add_extra(parser, "Extra capabilities key/value pairs to update for the host; may be repeated")
        add_service(parser)
        add_pool(parser, "draw it into the reservation pool, or give it back to the shared one")
        add_restriction(parser)

    def changes(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the properties and other keys to set."""
        values = each_once(options.extra) | asked_changes(options)
        if not values:
            raise ClientError(f"Say what to set: --extra KEY=VALUE, {CHANGES}.")
        return values


class UnsetHost(ChangeThing):
    """Remove properties of a host."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--extra", action="append", required=True, metavar="<key>", help="Property to remove; may be repeated"
        )

    def changes(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the properties to remove."""
        return dict.fromkeys(options.extra)


class DeleteHost(DeleteThing):
    """Remove a host from those that can be leased."""

    kind = _KIND


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add the options that take a host or other resource out of service, and put it back."""
    service = parser.add_mutually_exclusive_group()
    service.add_argument("--disable", metavar="<reason>", help="lease it to nobody but administrators")
    service.add_argument("--enable", action="store_true", help="lease it again")


def add_pool(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option that names a pool."""
    parser.add_argument("--pool", choices=["reservation", "shared"], help=text)


def add_projects(parser: Adds) -> None:
    """Add the options that name the projects that alone may use a resource, and the one that it belongs to."""
    _add_projects(parser)
    _add_owner(parser)


def _add_projects(parser: Adds) -> None:
    text = "a project, by ID, that alone may lease it; of several name all"
    add_repeated(parser, "--project", "projects", str, "<project>", text)


def _add_owner(parser: Adds) -> None:
    parser.add_argument("--owner", metavar="<project>", help="the project, by ID, that it belongs to and may lease it")


def named_projects(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keys of the API that `add_projects` asks for."""
    said = {"projects": options.projects, "owner": options.owner}
    return {key: value for key, value in said.items() if value}


def add_restriction(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which projects may use a resource from now on."""
    which = parser.add_mutually_exclusive_group()
    _add_projects(which)
    which.add_argument("--all-projects", action="store_true", help="every project may lease it again")
    whose = parser.add_mutually_exclusive_group()
    _add_owner(whose)
    whose.add_argument("--no-owner", action="store_true", help="it belongs to no project any more")


def asked_changes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keys of the API that `add_service`, `add_pool` and `add_restriction` ask for."""
    values: dict[str, Any] = {} if options.pool is None else {"pool": options.pool}
    values |= named_projects(options)
    if options.all_projects:
        values["projects"] = None
    if options.no_owner:
        values["owner"] = None
    if options.disable is not None:
        values |= {"disabled": True, "disabled_reason": options.disable}
    if options.enable:
        values |= {"disabled": False, "disabled_reason": ""}
    return values


def _add_extra(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--extra", action="append", default=[], type=typed.key_value, metavar="<key=value>", help=text)
