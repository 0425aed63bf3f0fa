"""`region list`, `region availability` and `region search`: what is free in which region of the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli import availability
from leasehold_client.cli.base import TalkingLister
from leasehold_client.cli.lease_options import add_contents, add_dates, add_repeated, contents, window
from leasehold_client.cli.shown import show_span
from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from leasehold_client.region import InRegion

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


class ListRegions(TalkingLister):
    """Print the regions that the service knows, and where each takes requests."""

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        """Ask for the regions."""
        rows: list[tuple[object, ...]] = [(each.name, each.endpoint, each.here) for each in self.client.regions.list()]
        return ("name", "endpoint", "here"), rows


class ShowInRegions(availability.ShowAvailability):
    """Print how much is free in each region at every moment of a time."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the options of `availability`, and the regions."""
        return _add_regions(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Ask the service, which asks its peers; say of each region what one lease would get, or why not."""
        answers = self.client.regions.availability(*self.asked(parsed_args), parsed_args.regions or None)
        rows: list[tuple[object, ...]] = []
        for each in answers:
            self.tell(f"{each.region}: {each.reason if each.found is None else availability.summary(each.found)}")
            rows += [(each.region, *self.row(step)) for step in (each.found.steps if each.found else ())]
        return ("region", *availability.TITLES), rows


class SearchRegions(TalkingLister):
    """Print the first windows in which a lease would be granted, in each region. Nothing is leased."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the options of what to lease, from when on, for how long, and where."""
        parser = super().get_parser(prog_name)
        add_dates(parser, self.clock)
        add_contents(parser)
        parser.add_argument("--limit", type=int, default=1, metavar="<number>", help="so many windows in each region")
        return _add_regions(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Ask the service, which asks its peers; where there is no window, say why."""
        start, end = window(parsed_args, self.clock.now())
        request = LeaseRequest(
            name="", start=parsed_args.start, end=end, reservations=contents(parsed_args, self.client.floating_ips)
        )
        found = self.client.regions.search(request, end - start, parsed_args.regions or None, limit=parsed_args.limit)
        self._tell_reasons(found)
        rows: list[tuple[object, ...]] = [
            (
                each.region,
                self.moment(free.start),
                self.moment(free.end),
                show_span(free.end - free.start),
                each.endpoint,
            )
            for each in found
            for free in each.found or ()
        ]
        return ("region", "from", "until", "lasts", "endpoint"), rows

    def _tell_reasons(self, found: Iterable[InRegion[Any]]) -> None:
        for each in found:
            if each.found is None:
                self.tell(f"{each.region}: {each.reason}")


def _add_regions(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    add_repeated(parser, "--region", "regions", str, "<region>", "in this region alone (default: in all)")
    return parser
