"""`resource type list`, `resource candidate list`, and the commands of the resources of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli import typed
from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, fields, sorted_rows
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.host import (
    CHANGES,
    add_pool,
    add_projects,
    add_restriction,
    add_service,
    asked_changes,
    named_projects,
)
from leasehold_client.cli.lease_options import add_repeated
from leasehold_client.cli.pairs import each_once
from leasehold_client.cli.part import add_part, asked_part, rows_of
from leasehold_client.cli.things import thing_fields
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.resource import Candidate, Resource, ResourceType

_PATH = "/resources/{resource_type}"
_TYPES: Mapping[str, Callable[[ResourceType], object]] = {
    "resource_type": lambda each: each.name,
    "noun": lambda each: each.noun,
    "enrolled": lambda each: each.enrolled,
}
_CANDIDATES: Mapping[str, Callable[[Candidate], object]] = {
    "name": lambda each: each.name,
    "id": lambda each: each.id,
    "up": lambda each: each.up,
    "enabled": lambda each: each.enabled,
    "pool": lambda each: each.pool,
    "refused": lambda each: each.refused,
}
_CELLS: Mapping[str, Callable[[Resource], object]] = {
    "name": lambda each: each.name,
    "id": lambda each: each.id,
    "capacity": lambda each: Shown(each.capacity, ", ".join(f"{n} {name}" for name, n in each.capacity.items())),
    "health": lambda each: each.health,
    "reservable": lambda each: each.reservable,
    "pool": lambda each: each.pool,
}


class ListTypes(TalkingLister):
    """Print what can be leased: the resource types that are switched on."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:  # noqa: ARG002 - cliff's signature.
        return sorted_rows(self.client.resources.types(), _TYPES, "resource_type")


class ListCandidates(TalkingLister):
    """Print what the cloud has and could be enrolled as resources of a type."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_type(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return sorted_rows(self.client.resources.candidates(parsed_args.resource_type), _CANDIDATES, "name")


class ListResources(TalkingLister):
    """Print a list of the resources of a type."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_type(parser)
        add_part(parser, self.clock, _PATH, _CELLS, "name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        part = asked_part(parsed_args, _PATH)
        return rows_of(self.client.resources.list(parsed_args.resource_type, part), _CELLS, parsed_args, part)


class ShowResource(TalkingShow):
    """Show a resource: what it is, its properties, and whether it can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(thing_fields(self, self.client.resources.find(parsed_args.resource_type, parsed_args.resource)))


class CreateResource(TalkingShow):
    """Enrol a resource, so that it can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_type(parser)
        parser.add_argument(
            "values",
            type=typed.values,
            metavar="<key=value,…>",
            help="what its type needs to find it, such as name=cmp-01 for physical:host",
        )
        _add_properties(parser)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        properties = each_once(parsed_args.properties)
        values = dict(parsed_args.values) | named_projects(parsed_args)
        made = self.client.resources.create(parsed_args.resource_type, values, properties)
        return fields(thing_fields(self, made))


class SetResource(Talking):
    """Update properties of a resource, take it out of service and put it back, or move it between the pools."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        _add_properties(parser)
        add_service(parser)
        add_pool(parser, "begin to move it into this pool")
        add_restriction(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        values = asked_changes(parsed_args)
        if parsed_args.properties:
            values["properties"] = each_once(parsed_args.properties)
        if not values:
            raise ClientError(f"Say what to set: --property KEY=VALUE, {CHANGES}.")
        kind = parsed_args.resource_type
        self.client.resources.change(kind, self.client.resources.find(kind, parsed_args.resource).id, values)
        self.app.stdout.write(f"Updated resource: {parsed_args.resource}\n")


class UnsetResource(Talking):
    """Remove properties of a resource."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        parser.add_argument(
            "--property", action="append", required=True, metavar="<key>", help="Property to remove; may be repeated"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        kind, absent = parsed_args.resource_type, {"properties": dict.fromkeys(parsed_args.property)}
        self.client.resources.change(kind, self.client.resources.find(kind, parsed_args.resource).id, absent)
        self.app.stdout.write(f"Updated resource: {parsed_args.resource}\n")


class DeleteResource(Talking):
    """Remove a resource from those that can be leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        kind = parsed_args.resource_type
        self.client.resources.delete(kind, self.client.resources.find(kind, parsed_args.resource).id)
        self.app.stdout.write(f"Deleted resource: {parsed_args.resource}\n")


def add_type(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a resource type."""
    parser.add_argument("resource_type", metavar="RESOURCE_TYPE", help="such as physical:host; see resource type list")


def _add_resource(parser: argparse.ArgumentParser) -> None:
    add_type(parser)
    parser.add_argument("resource", metavar="RESOURCE", help="ID or name of resource")


def _add_properties(parser: argparse.ArgumentParser) -> None:
    add_repeated(parser, "--property", "properties", typed.key_value, "<key=value>", "Property to set")
