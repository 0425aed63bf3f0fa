"""`host property list`, `show` and `set`, and `resource property list` and `set` for any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import (
    Talking,
    TalkingLister,
    TalkingShow,
    add_sorting,
    attributes,
    fields,
    sorted_rows,
)
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.resources.resource import add_type
from leasehold_client.errors import NotFoundError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from leasehold_client.property import Property


def _values(_: Talking, each: Property) -> Shown:
    return Shown(list(each.values), "\n".join(each.values))


_BRIEF: Mapping[str, Callable[[Talking, Property], object]] = {"property": lambda _, each: each.name}
_FULL = {**_BRIEF, **attributes("private"), "property_values": _values}


class ListProperties(TalkingLister):
    """List the properties by which leases choose hosts."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--detail", action="store_true", help="with their values, and whether they are private")
        parser.add_argument("--all", action="store_true", help="the private ones too")
        add_sorting(parser, _BRIEF, "property")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        kind = getattr(parsed_args, "resource_type", None)
        found = self.client.properties.list(kind, detail=parsed_args.detail, private=parsed_args.all)
        return sorted_rows(self, found, _FULL if parsed_args.detail else _BRIEF, parsed_args.sort_by)


class ListTypesProperties(ListProperties):
    """List the properties by which leases choose resources of a type."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_type(parser)


class ShowProperty(TalkingShow):
    """Show a property of hosts, and its values."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_property(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        name = parsed_args.property_name
        for each in self.client.properties.list(detail=True, private=True):
            if each.name == name:
                return fields({title: cell(self, each) for title, cell in _FULL.items()})
        raise NotFoundError(f"No host has a property {name!r}. See those that there are: host property list --all")


class SetProperty(Talking):
    """Say who sees a property."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_property(parser)
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--private", action="store_true", help="only administrators see it")
        who.add_argument("--public", action="store_true", help="everybody sees it")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        name, kind = parsed_args.property_name, getattr(parsed_args, "resource_type", None)
        self.client.properties.set_private(name, kind, private=parsed_args.private)
        self.app.stdout.write(f"Updated {'host' if kind is None else 'resource'} property: {name}\n")


class SetTypesProperty(SetProperty):
    """Say who sees a property of the resources of a type."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_type(parser)


def _add_property(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("property_name", metavar="PROPERTY_NAME", help="Name of property")
