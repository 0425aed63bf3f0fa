"""`-f csv` for commands that show one thing: a line of names and a line of values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cliff.formatters.base import SingleFormatter
from cliff.formatters.commaseparated import CSVLister

from leasehold_client.cli.output.columns import Shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TextIO


class CsvOfOne(CSVLister, SingleFormatter):
    """The form that lists have in cliff, with one row."""

    def emit_one(
        self, column_names: Sequence[str], data: Sequence[Any], stdout: TextIO, parsed_args: argparse.Namespace
    ) -> None:
        """Called by cliff with the names and the values; what has parts is written in JSON."""
        self.emit_list(column_names, [[_plain(each) for each in data]], stdout, parsed_args)


def _plain(cell: object) -> object:
    value = cell.machine_readable() if isinstance(cell, Shown) else cell
    return json.dumps(value) if isinstance(value, list | dict) else value
