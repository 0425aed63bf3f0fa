"""`region list`, `region availability` and `region search`: what is free in which region of the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.capacity import availability
from leasehold_client.cli.command.base import TalkingLister
from leasehold_client.cli.leases.searching import asked_windows, reasons, titles_of, window_rows
from leasehold_client.cli.reading.lease_options import add_repeated

if TYPE_CHECKING:
    import argparse

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


class ListRegions(TalkingLister):
    """Print the regions that the service knows, and where each takes requests."""

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        """Ask for the regions."""
        rows: list[tuple[object, ...]] = [(each.name, each.endpoint, each.here) for each in self.client.regions.list()]
        return ("name", "endpoint", "here"), rows


class ShowInRegions(availability.ShowAvailability):
    """Print how much is free in each region at every moment of a time."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of `availability`, and the regions."""
        super().add_options(parser)
        _add_regions(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Ask the service, which asks its peers; say of each region what one lease would get, or why not."""
        answers = self.client.regions.availability(*self.asked(parsed_args), parsed_args.regions or None)
        rows: list[tuple[object, ...]] = []
        for each in answers:
            self.tell(f"{each.region}: {each.reason if each.found is None else availability.summary(each.found)}")
            rows += [(each.region, *self.row(step)) for step in (each.found.steps if each.found else ())]
        return ("region", *availability.TITLES), rows


class SearchRegions(availability.SearchWindows):
    """Print the first windows in which a lease would be granted, in each region. Nothing is leased."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of `window search`, and the regions."""
        super().add_options(parser)
        parser.set_defaults(limit=1)
        _add_regions(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Ask the service, which asks its peers; where there is no window, say why."""
        wish = asked_windows(self, parsed_args)
        answers = list(self.client.regions.search(wish, parsed_args.regions or None))
        titles = titles_of(each.found for each in answers if each.found is not None)
        rows: list[tuple[object, ...]] = []
        for each in answers:
            for sentence in [each.reason] if each.found is None else reasons(wish, each.found):
                self.tell(f"{each.region}: {sentence}")
            found = () if each.found is None else window_rows(self, wish, each.found, titles)
            rows += [(each.region, *cells, each.endpoint) for cells in found]
        return ("region", *titles, "endpoint"), rows


def _add_regions(parser: argparse.ArgumentParser) -> None:
    add_repeated(parser, "--region", "regions", str, "<region>", "in this region alone (default: in all)")
