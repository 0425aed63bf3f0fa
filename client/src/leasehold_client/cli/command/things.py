"""Commands that are the same for every kind of thing: list, show, change and delete."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from leasehold_client.calls.wire import read_time
from leasehold_client.cli.command.base import Talking, TalkingLister, TalkingShow, fields
from leasehold_client.cli.command.part import add_part, asked_part, rows_of
from leasehold_client.cli.output.columns import Shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from leasehold_client.calls.collection import Collection, Thing
    from leasehold_client.calls.part import ListPart
    from leasehold_client.client import Client

T = TypeVar("T", bound="Thing")
_TIMES = frozenset({"start_date", "end_date", "failing_since", "next_try"})


@dataclass(frozen=True)
class ThingKind(Generic[T]):
    """A kind of thing: its noun, the path of its list, its calls, and the cells of its table by their titles.

    The table is sorted by the column `by`, the first one unless it is named. `argument` is the help of what names one.
    """

    noun: str
    path: str
    calls: Callable[[Client, argparse.Namespace], Collection[T]]
    cells: Mapping[str, Callable[[Talking, T], object]]
    by: str | None = None
    argument: str = "ID or name of the {noun} {purpose}"

    def add_one(self, parser: argparse.ArgumentParser, purpose: str = "") -> None:
        """Add the argument that names one."""
        text = self.argument.format(noun=self.noun, purpose=purpose).rstrip()
        parser.add_argument("thing", metavar=self.noun.upper().replace(" ", "_"), help=text)


class OfKind(Talking):
    """A command for things of a kind."""

    kind: ClassVar[ThingKind[Any]]

    def calls(self, options: argparse.Namespace) -> Any:
        """Return the calls for the things."""
        return self.kind.calls(self.client, options)


class ListThings(OfKind, TalkingLister):
    """Print a table of a kind."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_part(parser, self.clock, self.kind.path, self.kind.cells, self.kind.by or next(iter(self.kind.cells)))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        part = asked_part(parsed_args, self.kind.path)
        return rows_of(self, self.found(parsed_args, part), self.kind.cells, parsed_args, part)

    def found(self, options: argparse.Namespace, part: ListPart) -> Sequence[Any]:
        """Return what is in the table."""
        return cast("Sequence[Any]", self.calls(options).list(part))


class ListOwn(ListThings):
    """Print a table of what projects have."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--all-projects", action="store_true", help="those of all projects, for administrators")

    def found(self, options: argparse.Namespace, part: ListPart) -> Sequence[Any]:
        """Return those of the project, or of all projects."""
        return cast("Sequence[Any]", self.calls(options).list(part, all_projects=options.all_projects))


class ShowThing(OfKind, TalkingShow):
    """Show one of a kind."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.kind.add_one(parser, "to look up")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(self.shown(self.calls(parsed_args).find(parsed_args.thing)))

    def shown(self, found: Any) -> dict[str, object]:
        """Return what is shown of it."""
        return thing_fields(self, found)


class ChangeThing(OfKind):
    """Change one of a kind."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.kind.add_one(parser, "to update")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        calls, changes = self.calls(parsed_args), self.changes(parsed_args)
        calls.change(calls.find(parsed_args.thing).id, changes)
        self.app.stdout.write(f"Updated {self.kind.noun}: {parsed_args.thing}\n")

    @abstractmethod
    def changes(self, options: argparse.Namespace) -> Mapping[str, Any]:
        """Return the keys of the API to change; raises ClientError for none."""


class DeleteThing(OfKind):
    """Delete one of a kind."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.kind.add_one(parser, "to delete")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        calls = self.calls(parsed_args)
        calls.delete(calls.find(parsed_args.thing).id)
        self.app.stdout.write(f"Deleted {self.kind.noun}: {parsed_args.thing}\n")


def thing_fields(command: Talking, found: Thing, **more: object) -> dict[str, object]:
    """Return all that the service says about a thing and is not absent; `more` replaces what needs another form."""
    shown = {key: _cell(command, key, value) for key, value in found.values.items() if value is not None}
    return shown | more


def plain_fields(found: Thing) -> dict[str, object]:
    """Return the same by name, and as the service says it: what Blazar's client shows."""
    return {key: value for key, value in sorted(found.values.items()) if value is not None}


def _cell(command: Talking, key: str, value: Any) -> object:
    if isinstance(value, str) and (key in _TIMES or key.endswith("_at")):
        return command.moment_and_distance(read_time(value))
    return Shown(value, json.dumps(value)) if isinstance(value, list | dict) else value
