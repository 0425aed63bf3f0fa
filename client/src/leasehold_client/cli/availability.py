"""`availability`: how much is free, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli import typed
from leasehold_client.cli.base import TalkingLister
from leasehold_client.cli.columns import Shown
from leasehold_client.cli.shown import show_span
from leasehold_client.cli.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    import argparse

    from leasehold_client.availability import Availability, Step

WEEK = timedelta(days=7)
_TITLES = ("from", "until", "lasts", "free", "reserved")


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
        parser.add_argument("--properties", metavar="<expression>", help="of hosts with these properties")
        parser.add_argument(
            "--reservation",
            type=typed.reservation,
            default={"resource_type": HOST},
            metavar="<key=value,…>",
            help="of what this reservation asks for (default: hosts); how many it asks for does not matter",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        reservation = dict(parsed_args.reservation)
        if parsed_args.properties is not None:
            reservation["resource_properties"] = parsed_args.properties
        start = max(parsed_args.start or self.clock.now(), self.clock.now())
        end = parsed_args.end or start + (parsed_args.lasts or WEEK)
        if end <= start:
            raise ClientError("The time ends before it begins, or is over. Write a later --until.")
        found = self.client.availability.show(reservation, start, end)
        self.tell(_summary(found))
        return _TITLES, [self._row(step) for step in found.steps]

    def _row(self, step: Step) -> tuple[object, ...]:
        lasts = step.end - step.start
        span = Shown(int(lasts.total_seconds()), show_span(lasts))
        return self.moment(step.start), self.moment(step.end), span, step.free, step.reserved


def _summary(found: Availability) -> str:
    """Return what one lease would get, and what nobody gets now, in a sentence."""
    whole = "" if found.throughout is None else f"; one lease of all of this time would get {found.throughout}"
    back = f", of which {found.held_back} cannot be leased now" if found.held_back else ""
    return f"There are {found.total} {found.unit}{back}{whole}."
