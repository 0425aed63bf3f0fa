"""`forecast` and `forecast plot`: how much will be asked for, and how much will be missing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.cli.capacity.calendar import style_of
from leasehold_client.cli.command.base import Talking, TalkingLister
from leasehold_client.cli.output.drawing import Level, draw_levels
from leasehold_client.cli.output.shown import show_moment
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_span, span_to_come

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from datetime import datetime

    from leasehold_client.forecast import Expectation, Forecast, ForecastStep

ROWS = 12
TITLES = ("from", "capacity", "promised", "backlog", "expected", "missing")
_HIGH = ("expected (high)", "missing (high)")
_OF_LEVELS = ("promised", "waiting", "expected", "high")


class _Asking(Talking):
    """A command that asks for a forecast, and says on what it rests."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("resource_type", metavar="RESOURCE_TYPE", nargs="?", help="of this type (default: hosts)")
        add_span(parser, self.clock)
        parser.add_argument(
            "--step", type=typed.duration, metavar="<duration>", help="length of a step, in whole hours (default 1h)"
        )
        parser.add_argument("--weeks", type=int, metavar="<number>", help="at most so many past weeks (default: 8)")

    def ask(self, options: argparse.Namespace) -> Forecast:
        """Return the forecast, and tell what it rests on; raises ClientError for a time that is over."""
        start, end = span_to_come(options, self.clock.now())
        more: dict[str, Any] = {"step": options.step, "weeks": options.weeks}
        found = self.client.forecasts.show(start, end, resource_type=options.resource_type, **more)
        self.tell(" ".join([summary(found), *planned(found, partial(show_moment, zone=self.clock.zone))]))
        return found


class ShowForecast(_Asking, TalkingLister):
    """Print how many hosts or others will be asked for in each step of a time, and how many will be missing."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return (*TITLES, *_HIGH), [self._row(step) for step in self.ask(parsed_args).steps]

    def _row(self, step: ForecastStep) -> tuple[object, ...]:
        known = (self.moment(step.start), step.capacity, step.promised, step.backlog)
        return *known, *_cells(step, step.median), *_cells(step, step.high)


class PlotForecast(_Asking):
    """Draw how much will be asked for beside the capacity, as wide as the terminal."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--ascii", action="store_true", help="use letters of ASCII only")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        levels = [Level(step.start, step.end, heights(step), step.capacity) for step in self.ask(parsed_args).steps]
        style = style_of(self.app.stdout, self.clock.zone, ascii_only=parsed_args.ascii)
        lines = draw_levels(levels, _OF_LEVELS, ROWS, style)
        self.app.stdout.write("\n".join(lines) + "\n")
        self.app.stdout.flush()


def heights(step: ForecastStep) -> tuple[int, ...]:
    """Return the demand of a step, each with all that is more certain: promised, waiting, the median, and high."""
    known = step.promised + step.backlog
    median, high = (0 if each is None else each.demand for each in (step.median, step.high))
    return step.promised, known, max(known, median), max(known, median, high)


def summary(found: Forecast) -> str:
    """Return what the forecast rests on, and how much is missing at most, in a few sentences."""
    missing = max(step.shortfall for step in found.steps)
    if missing:
        said = [f"What is promised and waits exceeds the capacity by at most {missing} {found.unit}."]
    else:
        said = [f"There are always enough {found.unit} for what is promised and waits."]
    if found.weeks < found.least_weeks:
        said.append(f"Nothing more is expected: of {found.least_weeks} weeks of history there are {found.weeks}.")
    else:
        usual, high = (max(each.shortfall for each in of if each) for of in _expected(found))
        said.append(
            f"By {found.weeks} past weeks at most {usual} are expected to be missing, and {high} by the "
            f"{found.high_quantile:.0%} quantile."
        )
    return " ".join([*said, *(["More leases wait than are counted."] if found.waiting_uncounted else [])])


def planned(found: Forecast, written: Callable[[datetime], str]) -> list[str]:
    """Return with what that is not there yet a forecast counts, as a sentence, or nothing."""
    coming = [f"{many} from {written(at)} on" for at, many in found.coming]
    return [f"The capacity includes planned {found.unit}: {', '.join(coming)}."] if coming else []


def _expected(found: Forecast) -> tuple[list[Expectation | None], list[Expectation | None]]:
    return [step.median for step in found.steps], [step.high for step in found.steps]


def _cells(step: ForecastStep, expected: Expectation | None) -> tuple[int | None, int]:
    """Return what is expected, and what is missing then; without an expectation by what is known."""
    return (None, step.shortfall) if expected is None else (expected.demand, expected.shortfall)
