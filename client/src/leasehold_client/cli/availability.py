"""`availability`: how much is free, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold_client.cli import typed
from leasehold_client.cli.base import TalkingLister
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.lease_options import add_properties, properties
from leasehold_client.cli.shown import show_span
from leasehold_client.cli.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from leasehold_client.availability import Availability, Step

WEEK = timedelta(days=7)
TITLES = ("from", "until", "lasts", "free", "reserved")


class ShowAvailability(TalkingLister):
    """Print how much is free at every moment of a time, and how much one lease of all of it would get."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        moment = typed.moment_of(self.clock)
        parser.add_argument("--from", dest="start", type=moment, metavar="<time>", help=f"{MOMENTS} (default: now)")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--until", dest="end", type=moment, metavar="<time>", help="end")
        end.add_argument(
            "--for", dest="lasts", type=typed.duration, metavar="<duration>", help=f"how long, {DURATIONS} (default 7d)"
        )
        add_properties(parser, "only of hosts for which this holds")
        parser.add_argument(
            "--reservation",
            type=typed.reservation,
            default={"resource_type": HOST},
            metavar="<key=value,…>",
            help="of what this reservation asks for (default: hosts); how many it asks for does not matter",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.availability.show(*self.asked(parsed_args))
        self.tell(summary(found))
        return TITLES, [self.row(step) for step in found.steps]

    def asked(self, options: argparse.Namespace) -> tuple[dict[str, Any], datetime, datetime]:
        """Return the reservation that is asked about, and the window; raises ClientError for one that is over."""
        reservation = dict(options.reservation)
        if options.conditions:
            reservation["resource_properties"] = properties(options)
        start = max(options.start or self.clock.now(), self.clock.now())
        end = options.end or start + (options.lasts or WEEK)
        if end <= start:
            raise ClientError("The time ends before it begins, or is over. Write a later --until.")
        return reservation, start, end

    def row(self, step: Step) -> tuple[object, ...]:
        """Return the cells of a step."""
        lasts = step.end - step.start
        span = Shown(int(lasts.total_seconds()), show_span(lasts))
        return self.moment(step.start), self.moment(step.end), span, step.free, step.reserved


def summary(found: Availability) -> str:
    """Return what one lease would get, and what nobody gets now, in a sentence."""
    whole = "" if found.throughout is None else f"; one lease of all of this time would get {found.throughout}"
    back = f", of which {found.held_back} cannot be leased now" if found.held_back else ""
    return f"There are {found.total} {found.unit}{back}{whole}."
