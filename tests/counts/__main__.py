"""Count all costs: `python -m tests.counts [--write]` prints the differences from `kept.toml`, or also writes them.

The section of a database whose server is not installed keeps its numbers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.counts import kept
from tests.counts.answers import count_answers
from tests.counts.cloud import count_cloud
from tests.counts.costs import count_costs
from tests.servers import KINDS, ServerMissingError, new_database


def main() -> int:
    """Count, compare, and write if asked; return 1 when counts differ and were not written."""
    parser = argparse.ArgumentParser(prog="python -m tests.counts", description="Count what each use case costs.")
    parser.add_argument("--write", action="store_true", help=f"write what is counted to {kept.PAGE.name}")
    write: bool = parser.parse_args().write
    before = kept.read()
    counted = count_everything(before)
    changes = [
        f"[{section}] {each}"
        for section, counts in counted.items()
        for each in kept.differences(before.get(section, {}), counts)
    ]
    sys.stdout.write("\n".join([*changes, f"{len(changes)} counts differ from those that are kept.\n"]))
    if write:
        kept.write(counted)
    return 1 if changes and not write else 0


def count_everything(before: dict[str, kept.Counts]) -> dict[str, kept.Counts]:
    """Return every section of `kept.toml`, in the order of the file."""
    counted = {}
    for kind in KINDS:
        try:
            with new_database(kind) as url:
                counted[kind] = count_costs(url)
        except ServerMissingError as missing:
            sys.stdout.write(f"{kind} is not counted: {missing}\n")
            counted[kind] = before.get(kind, {})
    for section, count in (("cloud", count_cloud), ("answers", count_answers)):
        with tempfile.TemporaryDirectory(prefix="leasehold-counts-") as folder:
            counted[section] = count(Path(folder))
    return counted


if __name__ == "__main__":
    sys.exit(main())
