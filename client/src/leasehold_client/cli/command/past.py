"""What commands ask for that report about a time that is over: when, and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli.command.base import Talking
from leasehold_client.cli.reading import typed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


class AboutPast(Talking):
    """A command about a window that is over, of the own project, or for administrators of others."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        past = typed.past_of(self.clock)
        parser.add_argument("--from", dest="start", type=past, metavar="<time>", help="default: 30 days before the end")
        parser.add_argument("--to", "--until", dest="until", type=past, metavar="<time>", help="default: now")
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument("--project", metavar="<id>", help="of this project; for administrators")
        whose.add_argument("--all-projects", action="store_true", help="of all projects; for administrators")


def whose(options: argparse.Namespace) -> Mapping[str, Any]:
    """Return the projects that are asked about, as calls take them."""
    return {"project_id": options.project, "all_projects": options.all_projects}
