"""Commands that are the same for every kind of thing: list, show and delete."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from leasehold_client.cli.base import Talking, TalkingLister, TalkingShow, fields
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.part import add_part, asked_part, rows_of
from leasehold_client.wire import read_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from leasehold_client.client import Client
    from leasehold_client.collection import Collection, OwnCollection, Thing
    from leasehold_client.part import Part

T = TypeVar("T", bound="Thing")
_TIMES = frozenset({"start_date", "end_date", "failing_since", "next_try"})


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of thing: its noun, the path of its list, its calls, and the cells of its table by their titles."""

    noun: str
    path: str
    calls: Callable[[Client], Collection[T]]
    cells: Mapping[str, Callable[[Talking, T], object]]

    def add_one(self, parser: argparse.ArgumentParser, purpose: str) -> None:
        """Add the argument that names one."""
        parser.add_argument("thing", metavar=self.noun.upper().replace(" ", "_"), help=f"ID or name of {purpose}")


class ListThings(TalkingLister):
    """Print a table of a kind."""

    kind: ClassVar[Kind[Any]]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_part(parser, self.clock, self.kind.path, self.kind.cells, next(iter(self.kind.cells)))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        cells = {title: _of(self, cell) for title, cell in self.kind.cells.items()}
        part = asked_part(parsed_args, self.kind.path)
        return rows_of(self.found(parsed_args, part), cells, parsed_args, part)

    def found(self, options: argparse.Namespace, part: Part) -> Sequence[Any]:  # noqa: ARG002 - others have options.
        """Return what is in the table."""
        return self.kind.calls(self.client).list(part)


class ListOwn(ListThings):
    """Print a table of what projects have."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--all-projects", action="store_true", help="those of all projects, for administrators")
        return parser

    def found(self, options: argparse.Namespace, part: Part) -> Sequence[Any]:
        """Return those of the project, or of all projects."""
        calls = cast("OwnCollection[Any]", self.kind.calls(self.client))
        return calls.list(part, all_projects=options.all_projects)


class ShowThing(TalkingShow):
    """Show one of a kind."""

    kind: ClassVar[Kind[Any]]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self.kind.add_one(parser, f"the {self.kind.noun} to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        return fields(self.shown(self.kind.calls(self.client).find(parsed_args.thing)))

    def shown(self, found: Any) -> dict[str, object]:
        """Return what is shown of it."""
        return thing_fields(self, found)


class DeleteThing(Talking):
    """Delete one of a kind."""

    kind: ClassVar[Kind[Any]]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self.kind.add_one(parser, f"the {self.kind.noun} to delete")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        calls = self.kind.calls(self.client)
        calls.delete(calls.find(parsed_args.thing).id)
        self.app.stdout.write(f"Deleted {self.kind.noun}: {parsed_args.thing}\n")


def thing_fields(command: Talking, found: Thing, **more: object) -> dict[str, object]:
    """Return all that the service says about a thing and is not absent; `more` replaces what needs another form."""
    shown = {key: _cell(command, key, value) for key, value in found.values.items() if value is not None}
    return shown | more


def _of(command: Talking, cell: Callable[[Talking, Any], object]) -> Callable[[Any], object]:
    return lambda each: cell(command, each)


def _cell(command: Talking, key: str, value: Any) -> object:
    if isinstance(value, str) and (key in _TIMES or key.endswith("_at")):
        return command.moment_and_distance(read_time(value))
    return Shown(value, json.dumps(value)) if isinstance(value, list | dict) else value
