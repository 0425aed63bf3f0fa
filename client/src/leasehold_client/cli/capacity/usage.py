"""`usage` and `usage plot`: hours that were promised, held, used and idle, as a table and drawn by day."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli.capacity.calendar import style_of
from leasehold_client.cli.command.base import TalkingLister
from leasehold_client.cli.command.past import AboutPast, whose
from leasehold_client.cli.output.drawing import Level, draw_levels
from leasehold_client.usage import GROUPS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from leasehold_client.usage import Usage, UsageRow

ROWS = 12
DAY = timedelta(days=1)
HOST = "physical:host"
AMOUNTS = ("promised", "held", "late", "active", "used", "idle", "no_show", "missing", "given_up", "lent")
_NAMES = {
    "project": ("project_id",),
    "user": ("project_id", "user_id"),
    "resource": ("resource",),
    "kind": (),
    "lease": ("lease_id", "project_id", "user_id"),
    "day": ("day",),
}
_OF_LEVELS = ("used", "idle", "late")


class _Asking(AboutPast):
    """A command that asks for usage, and says how precisely it is known what was used."""

    def ask(self, options: argparse.Namespace, group_by: str) -> Usage:
        """Return the usage, and tell how often somebody looks."""
        found = self.client.usage.show(options.start, options.until, group_by=group_by, **whose(options))
        if found.precision_seconds is None:
            self.tell("Nobody looks at what is used, so what is idle is not known.")
        elif found.rows:
            self.tell(f"All are hours; what is used is known to {found.precision_seconds:g} seconds.")
        return found


class ShowUsage(_Asking, TalkingLister):
    """Print how many hours of hosts and others were promised, held, used and idle."""

    nothing = "Nothing was promised."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        about = f"what a row is about: {', '.join(GROUPS)} (default: project)"
        parser.add_argument("--group-by", choices=GROUPS, default="project", metavar="<what>", help=about)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.ask(parsed_args, parsed_args.group_by)
        names = _NAMES[parsed_args.group_by]
        titles = (*(name.removesuffix("_id") for name in names), "type", *AMOUNTS, "refused")
        rows: list[tuple[object, ...]] = [
            (
                *(getattr(each, name) for name in names),
                each.resource_type,
                *(_hours(getattr(each, name)) for name in AMOUNTS),
                each.refused,
            )
            for each in found.rows
        ]
        return tuple(each.replace("_", " ") for each in titles), rows


class PlotUsage(_Asking):
    """Draw by day how much was used, idle and late, below a line at what was promised, as wide as the terminal."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("resource_type", metavar="RESOURCE_TYPE", nargs="?", default=HOST, help=f"default: {HOST}")
        super().add_options(parser)
        parser.add_argument("--ascii", action="store_true", help="use letters of ASCII only")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = self.ask(parsed_args, "day")
        levels = days_of(found, (each for each in found.rows if each.resource_type == parsed_args.resource_type))
        style = style_of(self.app.stdout, UTC, ascii_only=parsed_args.ascii)
        lines = draw_levels(levels, _OF_LEVELS, ROWS, style, limit="promised, in hours a day")
        self.app.stdout.write("\n".join(lines) + "\n")
        self.app.stdout.flush()


def days_of(found: Usage, rows: Iterable[UsageRow]) -> list[Level]:
    """Return the hours of each day of UTC, also of those without any; what is not known to be used counts as idle."""
    by_day: dict[str, list[UsageRow]] = defaultdict(list)
    for each in rows:
        by_day[each.day or ""].append(each)
    day = found.begin.replace(hour=0, minute=0, second=0, microsecond=0)
    levels = []
    while day < found.until:
        mine = by_day[f"{day:%Y-%m-%d}"]
        levels.append(Level(max(day, found.begin), min(day + DAY, found.until), *_heights(mine)))
        day += DAY
    return levels


def _heights(rows: list[UsageRow]) -> tuple[tuple[int, ...], int]:
    """Return what was used, active and held, none less than the one before, and what was promised."""
    used = round(sum(each.used or 0 for each in rows))
    active = max(used, round(sum(each.active for each in rows)))
    held = max(active, round(sum(each.held for each in rows)))
    return (used, active, held), round(sum(each.promised or 0 for each in rows))


def _hours(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 2)
