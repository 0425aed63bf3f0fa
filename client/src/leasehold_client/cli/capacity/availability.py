"""`availability`, `window search` and `property list`: how much is free, when, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli.command.base import TalkingLister
from leasehold_client.cli.leases.searching import add_search, asked_windows, reasons, titles_of, window_rows
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_span
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import (
    add_contents,
    add_dates,
    add_properties,
    add_span,
    properties,
    span_to_come,
)
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from leasehold_client.availability import Askable, Availability, AvailabilityStep

_LONGEST_VALUE = 40
TITLES = ("from", "until", "lasts", "free", "reserved")


class ShowAvailability(TalkingLister):
    """Print how much is free at every moment of a time, and how much one lease of all of it would get."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_span(parser, self.clock)
        add_properties(parser, "only of hosts for which this holds")
        parser.add_argument(
            "--reservation",
            type=typed.reservation,
            default={"resource_type": HOST},
            metavar="<key=value,…>",
            help="of what this reservation asks for (default: hosts); how many it asks for does not matter",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.availability.show(*self.asked(parsed_args))
        self.tell(summary(found))
        return TITLES, [self.row(step) for step in found.steps]

    def asked(self, options: argparse.Namespace) -> tuple[dict[str, Any], datetime, datetime]:
        """Return the reservation that is asked about, and the window; raises ClientError for one that is over."""
        reservation = dict(options.reservation)
        if options.conditions:
            reservation["resource_properties"] = properties(options)
        return reservation, *span_to_come(options, self.clock.now())

    def row(self, step: AvailabilityStep) -> tuple[object, ...]:
        """Return the cells of a step."""
        lasts = step.end - step.start
        span = Shown(int(lasts.total_seconds()), show_span(lasts))
        return self.moment(step.start), self.moment(step.end), span, step.free, step.reserved


class SearchWindows(TalkingLister):
    """Print the first windows in which a lease would be granted, earliest first. Nothing is leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_dates(parser, self.clock)
        add_contents(parser)
        add_search(parser, self.clock)
        parser.add_argument(
            "--project", dest="project_id", metavar="<project>", help="for this project, by ID: for administrators"
        )
        parser.add_argument("--limit", type=int, default=3, metavar="<number>", help="so many windows (default: 3)")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        wish = asked_windows(self, parsed_args)
        found = self.client.availability.search(wish)
        for sentence in reasons(wish, found):
            self.tell(sentence)
        titles = titles_of([found])
        return titles, list(window_rows(self, wish, found, titles))


class ListAskable(TalkingLister):
    """Print by which properties leases can choose hosts, with the values that there are."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "resource_type", metavar="RESOURCE_TYPE", nargs="?", help="of this type, such as virtual:instance"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.availability.properties(parsed_args.resource_type)
        return ("property", "values"), [(each.name, _values(each)) for each in found]


def _values(each: Askable) -> Shown:
    """Return the cell of the values; a text such as that of cpu_info is cut for people."""
    texts = [text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…" for text in each.values]
    more = [f"and {each.left_out} more"] if each.left_out else []
    return Shown(list(each.values), ", ".join([*texts, *more]))


def summary(found: Availability) -> str:
    """Return what one lease would get, and what nobody gets now, in a sentence."""
    whole = "" if found.throughout is None else f"; one lease of all of this time would get {found.throughout}"
    back = f", of which {found.held_back} cannot be leased now" if found.held_back else ""
    return f"There are {found.total} {found.unit}{back}{whole}."
