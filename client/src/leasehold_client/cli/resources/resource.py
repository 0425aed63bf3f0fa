"""`resource type list`, `resource candidate list`, and the commands of the resources of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli.command.base import Talking, TalkingLister, TalkingShow, attributes, fields, sorted_rows
from leasehold_client.cli.command.things import ChangeThing, DeleteThing, ListThings, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_repeated
from leasehold_client.cli.reading.pairs import each_once
from leasehold_client.cli.resources.host import (
    CHANGES,
    add_pool,
    add_projects,
    add_restriction,
    add_service,
    asked_changes,
    named_projects,
)
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.resource import Resource, ResourceType

_TYPES: Mapping[str, Callable[[Talking, ResourceType], object]] = {
    "resource_type": lambda _, each: each.name,
    **attributes("noun", "enrolled"),
}
_CANDIDATES = attributes("name", "id", "up", "enabled", "pool", "refused")


def _capacity(_: Talking, each: Resource) -> Shown:
    return Shown(each.capacity, ", ".join(f"{amount} {name}" for name, amount in each.capacity.items()))


_KIND: ThingKind[Resource] = ThingKind(
    "resource",
    "/resources/{resource_type}",
    lambda client, options: client.resources.of(options.resource_type),
    {**attributes("name", "id"), "capacity": _capacity, **attributes("health", "reservable", "pool")},
    argument="ID or name of {noun}",
)


class _OfType(Talking):
    """A command for resources of a type, which is its first argument."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_type(parser)
        super().add_options(parser)


class ListTypes(TalkingLister):
    """Print what can be leased: the resource types that are switched on."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:  # noqa: ARG002 - cliff's signature.
        return sorted_rows(self, self.client.resources.types(), _TYPES, "resource_type")


class ListCandidates(_OfType, TalkingLister):
    """Print what the cloud has and could be enrolled as resources of a type."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return sorted_rows(self, self.client.resources.candidates(parsed_args.resource_type), _CANDIDATES, "name")


class ListResources(_OfType, ListThings):
    """Print a list of the resources of a type."""

    kind = _KIND


class ShowResource(_OfType, ShowThing):
    """Show a resource: what it is, its properties, and whether it can be leased."""

    kind = _KIND


class CreateResource(_OfType, TalkingShow):
    """Enrol a resource, so that it can be leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "values",
            type=typed.values,
            metavar="<key=value,…>",
            help="what its type needs to find it, such as name=cmp-01 for physical:host",
        )
        _add_properties(parser)
        add_projects(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        properties = each_once(parsed_args.properties)
        values = dict(parsed_args.values) | named_projects(parsed_args)
        made = self.client.resources.create(parsed_args.resource_type, values, properties)
        return fields(thing_fields(self, made))


class SetResource(_OfType, ChangeThing):
    """Update properties of a resource, take it out of service and put it back, or move it between the pools."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        _add_properties(parser)
        add_service(parser)
        add_pool(parser, "begin to move it into this pool")
        add_restriction(parser)

    def changes(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the properties and other keys to set."""
        values = asked_changes(options)
        if options.properties:
            values["properties"] = each_once(options.properties)
        if not values:
            raise ClientError(f"Say what to set: --property KEY=VALUE, {CHANGES}.")
        return values


class UnsetResource(_OfType, ChangeThing):
    """Remove properties of a resource."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--property", action="append", required=True, metavar="<key>", help="Property to remove; may be repeated"
        )

    def changes(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the properties to remove."""
        return {"properties": dict.fromkeys(options.property)}


class DeleteResource(_OfType, DeleteThing):
    """Remove a resource from those that can be leased."""

    kind = _KIND


def add_type(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a resource type."""
    parser.add_argument("resource_type", metavar="RESOURCE_TYPE", help="such as physical:host; see resource type list")


def _add_properties(parser: argparse.ArgumentParser) -> None:
    add_repeated(parser, "--property", "properties", typed.key_value, "<key=value>", "Property to set")
