"""Looking for the first windows in which a lease, or something that would do as well, would be granted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold_client.availability import Wish
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_moment, show_span, what_would_be
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_repeated, contents, window
from leasehold_client.cli.reading.times import DURATIONS
from leasehold_client.errors import ClientError
from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta

    from leasehold_client.availability import FreeWindow, FreeWindows
    from leasehold_client.cli.command.base import Talking
    from leasehold_client.cli.reading.lease_options import Adds
    from leasehold_client.cli.reading.zone import Clock

_TITLES = ("from", "until", "lasts", "what")


def add_search(parser: Adds, clock: Clock, only: str = "") -> None:
    """Add the options that say which windows would do; `only` begins each help text."""
    parser.add_argument("--before", type=typed.end_of(clock), metavar="<time>", help=f"{only}it has to be over by then")
    parser.add_argument(
        "--at-least",
        type=typed.duration,
        metavar="<duration>",
        help=f"{only}if nothing of the length is free, the longest that is, but so much, {DURATIONS}",
    )
    example = "such as min=2,resource_properties=gpu=true, of hosts unless it names a resource_type"
    text = f"{only}or else this, a reservation {example}"
    add_repeated(parser, "--or", "alternatives", typed.alternative, "<key=value,…>", text)


def add_earliest(parser: Adds, clock: Clock) -> None:
    """Add `--earliest`, and the options that say which windows would do."""
    text = "start as soon as it is free, from the start on that is asked for"
    parser.add_argument("--earliest", action="store_true", help=text)
    add_search(parser, clock, "with --earliest: ")


def check_search(options: argparse.Namespace) -> None:
    """Raise ClientError for options that say which windows would do, where none is looked for."""
    if not options.earliest and (options.before or options.at_least or options.alternatives):
        raise ClientError("--before, --at-least and --or are for --earliest. Write it too, or leave them out.")


def in_first_window(command: Talking, options: argparse.Namespace, request: LeaseRequest) -> LeaseRequest:
    """Return the request, or an alternative, in the first window in which it would be granted, and say which that is.

    Raises ApiError with the refusal, or ClientError with that of each alternative.
    """
    start, end = window(options, command.clock.now())
    wish = wish_of(options, request, None if request.end is None else end - start)
    found = command.client.availability.search(wish)
    if not found.windows:
        raise ClientError("\n".join(reasons(wish, found))) if wish.alternatives else found.refused[0].error
    first, zone = found.windows[0], command.clock.zone
    parts = wish.of(first.alternative)
    which = f" for {what_would_be(parts, first.amounts)}" if wish.alternatives else ""
    command.tell(
        f"The first window that is free{which}: {show_moment(first.start, zone)} until {show_moment(first.end, zone)}"
    )
    return replace(request, start=first.start, end=first.end, reservations=parts)


def wish_of(options: argparse.Namespace, request: LeaseRequest, length: timedelta | None, *, limit: int = 1) -> Wish:
    """Return what the options of `add_search` ask for; raises ClientError where they do not go together."""
    if options.alternatives and request.template is not None:
        raise ClientError("--or says what would do in place of the other options. Leave --template out.")
    return Wish(request, length, options.at_least, options.before, options.alternatives, limit)


def asked_windows(command: Talking, options: argparse.Namespace) -> Wish:
    """Return what a command that looks for windows asks for, and leases nothing."""
    start, end = window(options, command.clock.now())
    reservations = contents(options, command.client.floating_ips)
    more = {} if options.project_id is None else {"project_id": options.project_id}
    request = LeaseRequest(name="", start=options.start, end=end, reservations=reservations, more=more)
    return wish_of(options, request, end - start, limit=options.limit)


def titles_of(found: Iterable[FreeWindows]) -> tuple[str, ...]:
    """Return the titles of `window_rows`: with that of costs, if any window has one."""
    return (*_TITLES, "cost") if any("cost" in each.estimates for every in found for each in every.windows) else _TITLES


def window_rows(
    command: Talking, wish: Wish, found: FreeWindows, titles: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the cells of each window below these titles; alternatives are numbered as they were asked for."""
    for each in found.windows:
        which = f"{each.alternative + 1}. " if wish.alternatives else ""
        what = which + what_would_be(wish.of(each.alternative), each.amounts)
        cells = command.moment(each.start), command.moment(each.end), show_span(each.end - each.start), what
        yield (*cells, _cost(each))[: len(titles)]


def _cost(window: FreeWindow) -> Shown:
    found = window.estimates.get("cost")
    return Shown(found, "" if found is None else f"{found['total']} {found['unit']}")


def reasons(wish: Wish, found: FreeWindows) -> Iterator[str]:
    """Yield a sentence for each alternative that has no window, numbered in the same way."""
    for each in found.refused:
        which = f"{each.alternative + 1}. " if wish.alternatives else ""
        yield f"{which}{each.error}"
