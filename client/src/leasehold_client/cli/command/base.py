"""What every command has: the client, the user's clock, and a word to the person who waits."""

from __future__ import annotations

import shlex
from datetime import datetime
from functools import partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, cast

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from leasehold_client.calls.wire import write_time
from leasehold_client.cli.output.columns import Shown, cells, visible
from leasehold_client.cli.output.shown import show_both, show_moment
from leasehold_client.cli.reading.times import BadTimeError
from leasehold_client.cli.reading.typed import settle_ends
from leasehold_client.cli.reading.zone import users_clock
from leasehold_client.errors import ApiError, ClientError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leasehold_client.cli.reading.zone import Clock
    from leasehold_client.client import Client

NAME = "leasehold"
"""The client's name among those of the application: the API name of the plugin."""
_TIMES = {"start_date": "start", "end_date": "end"}


class Talking(Command):
    """A command that talks to the service."""

    def __init__(self, app: Any, app_args: argparse.Namespace | None, cmd_name: str | None = None) -> None:
        super().__init__(app, cast("argparse.Namespace", app_args), cmd_name)
        self.clock: Clock = users_clock()
        if isinstance(self.app.stdout, TextIOWrapper):
            # What the encoding of the output does not have is written out, as Python does on stderr.
            self.app.stdout.reconfigure(errors="backslashreplace")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Called by cliff; a table on a terminal is no wider than that."""
        parser = super().get_parser(prog_name)
        # Elsewhere, as in a file or a pipe, nothing is broken into several lines.
        parser.set_defaults(fit_width=self.app.stdout.isatty())
        self.add_options(parser)
        return parser

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments and options of the command, after those of every table."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Called by cliff; a refusal does not steer the terminal, and says which other command of ours explains it."""
        if self.clock.unread is not None:
            self.tell(f"TZ={self.clock.unread} is no time zone that can be read, so times are in UTC.")
        try:
            settle_ends(parsed_args, self.clock)
            return super().run(parsed_args)
        except BadTimeError as error:
            raise ClientError(str(error)) from None
        except ClientError as error:
            sentence = visible(str(error))
            if isinstance(error, ApiError) and "unknown_property" in error.details:
                sentence += f"\nTo see which there are: {written(self, ['property', 'list'])}"
            raise ClientError(sentence) from None

    @property
    def client(self) -> Client:
        """The client of the application, which logs in at the first request."""
        return cast("Client", getattr(cast("Any", self.app).client_manager, NAME))

    def tell(self, sentence: str) -> None:
        """Write a line for people; programs read stdout, so this goes to stderr."""
        self.app.stderr.write(f"{visible(sentence)}\n")
        self.app.stderr.flush()

    def moment(self, moment: datetime) -> Shown:
        """Return the cell of a time."""
        return Shown(write_time(moment), show_moment(moment, self.clock.zone))

    def moment_and_distance(self, moment: datetime) -> Shown:
        """Return the cell of a time that also says how far away it is."""
        return Shown(write_time(moment), show_both(moment, self.clock.now(), self.clock.zone))


class TalkingLister(Talking, Lister):
    """A command that prints a table."""

    nothing = "There is nothing to list."

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        """Called by cliff; a table without rows would be an empty line."""
        rows = [cells(row) for row in data]
        if not rows and parsed_args.formatter == "table":
            self.tell(self.nothing)
            return 0
        return super().produce_output(parsed_args, column_names, rows)


class TalkingShow(Talking, ShowOne):
    """A command that prints one thing."""

    @property
    def formatter_namespace(self) -> str:
        """The formats: those of cliff, and CSV."""
        return "leasehold.formatter.show"

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]) -> int:
        """Called by cliff."""
        return super().produce_output(parsed_args, column_names, cells(data))


def written(command: Talking, words: Sequence[str]) -> str:
    """Return a command as it is typed; in OpenStack's command line the noun `reservation` is before it."""
    noun = ["reservation"] if (command.cmd_name or "").startswith("reservation ") else []
    return shlex.join([str(command.app.NAME), *noun, *words])


def add_sorting(parser: argparse.ArgumentParser, columns: Iterable[str], default: str) -> None:
    """Add `--sort-by` in Blazar's form."""
    parser.add_argument(
        "--sort-by",
        metavar="<column>",
        choices=list(columns),
        default=default,
        help=f"column to sort by: {', '.join(columns)} (default: {default})",
    )


def attributes(*titles: str) -> dict[str, Callable[[Talking, Any], object]]:
    """Return the cells of columns that are attributes of a thing; `start_date` and `end_date` are its times."""
    return {title: partial(_attribute, _TIMES.get(title, title)) for title in titles}


def _attribute(name: str, command: Talking, thing: Any) -> object:
    value = getattr(thing, name)
    return command.moment(value) if isinstance(value, datetime) else value


def sorted_rows(
    command: Talking, values: Iterable[Any], cells: Mapping[str, Callable[[Talking, Any], object]], by: str | None
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return titles and rows of a table, in the order of one column's cells, or None: as they come.

    `cells` makes a cell of each value, for the user of the command.
    """
    rows = [tuple(make(command, each) for make in cells.values()) for each in values]
    if by is None:
        return tuple(cells), rows
    title = list(cells).index(by)
    return tuple(cells), sorted(rows, key=lambda row: _order(row[title]))


def _order(cell: object) -> tuple[bool, Any]:
    """Return the key of a cell; what is absent comes last."""
    plain = cell.machine_readable() if isinstance(cell, Shown) else cell
    return plain is None, 0 if plain is None else plain


def fields(values: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return one thing as cliff prints it."""
    return tuple(values), tuple(values.values())
