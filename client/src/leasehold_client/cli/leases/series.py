"""`series list`, `series show`, `series create`, `series set` and `series delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_moment
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import (
    HEAL_POLICIES,
    REMOVES_PURPOSE,
    add_contents,
    add_dates,
    add_purpose,
    add_repeated,
    contents,
    window,
)
from leasehold_client.series import SeriesRequest

if TYPE_CHECKING:
    import argparse
    from datetime import datetime, tzinfo

    from leasehold_client.series import Occurrence, Series

RULES = (
    "when it recurs, by RFC 5545, in quotes because of the shell: 'FREQ=WEEKLY;COUNT=12', or until a day, "
    "'FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20310731'"
)

_KIND: ThingKind[Series] = ThingKind(
    "series",
    "/series",
    lambda client, _: client.series,
    {
        **attributes("name", "id", "rule"),
        "occurrences": lambda _, series: len(series.occurrences),
        "refused": lambda _, series: sum(each.refusal is not None for each in series.occurrences),
    },
)


class ListSeries(ListOwn):
    """Print a list of series of leases."""

    kind = _KIND


class ShowSeries(ShowThing):
    """Show a series of leases: each occurrence with its lease, or with why it was refused."""

    kind = _KIND

    def shown(self, found: Series) -> dict[str, object]:
        """Return what is shown of it, an occurrence in each line."""
        return series_fields(self, found)


class DeleteSeries(DeleteThing):
    """Delete a series and all its leases; those that run are ended."""

    kind = _KIND


class CreateSeries(TalkingShow):
    """Ask for a lease for each occurrence of a rule; those that can be granted are."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "name", type=typed.name, metavar="SERIES", help="Name for the series; its leases have it, and a number"
        )
        parser.add_argument("--rule", required=True, metavar="<rule>", help=RULES)
        parser.add_argument(
            "--time-zone",
            metavar="<zone>",
            default=self.clock.name,
            help=f"in which the rule counts, such as Europe/Berlin (default: yours, {self.clock.name or 'not known'})",
        )
        add_dates(parser, self.clock)
        add_contents(parser)
        add_purpose(parser)
        parser.add_argument("--heal-policy", choices=HEAL_POLICIES, help="what happens if something that it has fails")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        if parsed_args.time_zone is None:
            self.tell("The name of your time zone is not known, so the rule counts in UTC. Or say --time-zone.")
        start, end = window(parsed_args, self.clock.now())
        request = SeriesRequest(
            name=parsed_args.name,
            start=start,
            end=end,
            rule=parsed_args.rule,
            reservations=contents(parsed_args, self.client.floating_ips),
            time_zone=parsed_args.time_zone,
            heal_policy=parsed_args.heal_policy,
            purpose=parsed_args.purpose,
        )
        made = self.client.series.create(request)
        self.tell(
            f"Its rule counts in {made.values['time_zone']}: an hour of the day stays the same when clocks change."
        )
        return fields(series_fields(self, made))


class SetSeries(TalkingShow):
    """Change what has not begun of a series, and ask again for what was refused, also without any option."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to update")
        parser.add_argument("--name", type=typed.name, help="New name for the series")
        add_purpose(parser, REMOVES_PURPOSE)
        moment, first = typed.moment_of(self.clock), "of the first occurrence, in your zone"
        parser.add_argument("--from", dest="start", type=moment, metavar="<time>", help=f"new start {first}")
        parser.add_argument(
            "--until", dest="end", type=typed.end_of(self.clock), metavar="<time>", help=f"new end {first}"
        )
        changes = "What changes about a reservation of every occurrence, in their order"
        add_repeated(parser, "--reservation", "reservations", typed.values, "<key=value,…>", changes)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        changed = self.client.series.change(
            self.client.series.find(parsed_args.thing).id,
            name=parsed_args.name,
            start=parsed_args.start,
            end=parsed_args.end,
            reservations=parsed_args.reservations,
            purpose=parsed_args.purpose,
        )
        return fields(series_fields(self, changed))


def series_fields(command: Talking, found: Series) -> dict[str, object]:
    """Return what is shown of a series; for people each occurrence is a line."""
    lines = "\n".join(_occurrence(each, command.clock.zone) for each in found.occurrences)
    return thing_fields(command, found, occurrences=Shown(found.values["occurrences"], lines))


def _occurrence(each: Occurrence, zone: tzinfo) -> str:
    planned = each.planned and f"(by the rule {_dates(*each.planned, zone)})"
    parts = (_dates(each.start, each.end, zone), planned, each.lease_id, each.status, each.refusal)
    return "  ".join(part for part in parts if part)


def _dates(start: datetime, end: datetime, zone: tzinfo) -> str:
    return f"{show_moment(start, zone)} until {show_moment(end, zone)}"
