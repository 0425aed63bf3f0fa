"""`lease events`: what happened to leases, and with `--follow` what happens."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from leasehold_client.calls.wire import read_time
from leasehold_client.cli.command.base import Talking
from leasehold_client.cli.output.columns import one_line
from leasehold_client.cli.output.shown import show_moment
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_repeated
from leasehold_client.cli.reading.times import PAST_MOMENTS
from leasehold_client.event import LATEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from leasehold_client.event import EventPage, LogEvent

_WIDEST_TYPE = 24


class ListEvents(Talking):
    """Print what happened to a lease, or to all leases of the project, oldest first; a line for each event."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("lease", metavar="LEASE", nargs="?", help="ID or name of lease (default: all leases)")
        parser.add_argument("--follow", action="store_true", help="go on with what happens, until Ctrl-C")
        parser.add_argument("--new", action="store_true", help="leave out what has happened already; with --follow")
        types = "only events of this type, such as lease.event.start_lease"
        add_repeated(parser, "--type", "types", typed.wanted, "<type>", types)
        since = f"only what happened at this time or later, {PAST_MOMENTS}"
        parser.add_argument("--since", type=typed.past_of(self.clock), metavar="<time>", help=since)
        parser.add_argument("--json", action="store_true", help="print each event as a line of JSON")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        named = parsed_args.lease
        lease_id = None if named is None else self.client.leases.find(named).id
        after = LATEST if parsed_args.new else None
        ask = partial(self.client.events.page, lease_id=lease_id, types=parsed_args.types, since=parsed_args.since)
        follow = partial(self.client.events.follow, lease_id=lease_id, types=parsed_args.types, since=parsed_args.since)
        found = follow(after=after) if parsed_args.follow else _past(ask, after)
        for event in found:
            line = json.dumps(event.values) if parsed_args.json else one_line(self._line(event))
            self.app.stdout.write(f"{line}\n")
            self.app.stdout.flush()

    def _line(self, event: LogEvent) -> str:
        what = (event.payload.get(key) for key in ("name", "status"))
        ends = event.payload.get("ends_at")
        ending = "" if ends is None else f"ends at {show_moment(read_time(ends), self.clock.zone)}"
        named = "  ".join(str(each) for each in (*what, ending) if each)
        return (
            f"{show_moment(event.time, self.clock.zone)}  {event.type:{_WIDEST_TYPE}}  {named or event.lease_id or ''}"
        )


def _past(ask: Callable[..., EventPage], after: str | None) -> Iterator[LogEvent]:
    page = ask(after=after)
    while page.events:
        yield from page.events
        page = ask(after=page.next)
