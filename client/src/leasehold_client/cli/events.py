"""`lease events`: what happened to leases, and with `--follow` what happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold_client.cli.base import Talking
from leasehold_client.cli.shown import show_moment
from leasehold_client.event import LATEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from leasehold_client.event import Event, Events

_WIDEST_TYPE = 24


class ListEvents(Talking):
    """Print what happened to a lease, or to all leases of the project, oldest first; a line for each event."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", nargs="?", help="ID or name of lease (default: all leases)")
        parser.add_argument("--follow", action="store_true", help="go on with what happens, until Ctrl-C")
        parser.add_argument("--new", action="store_true", help="leave out what has happened already; with --follow")
        parser.add_argument("--json", action="store_true", help="print each event as a line of JSON")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        named = parsed_args.lease
        lease_id = None if named is None else self.client.leases.find(named).id
        after = LATEST if parsed_args.new else None
        events = self.client.events
        found = events.follow(after=after, lease_id=lease_id) if parsed_args.follow else _past(events, after, lease_id)
        for event in found:
            line = json.dumps(event.values) if parsed_args.json else self._line(event)
            self.app.stdout.write(f"{line}\n")
            self.app.stdout.flush()

    def _line(self, event: Event) -> str:
        what = (event.payload.get(key) for key in ("name", "status"))
        named = "  ".join(str(each) for each in what if each)
        return (
            f"{show_moment(event.time, self.clock.zone)}  {event.type:{_WIDEST_TYPE}}  {named or event.lease_id or ''}"
        )


def _past(events: Events, after: str | None, lease_id: str | None) -> Iterator[Event]:
    page = events.page(after=after, lease_id=lease_id)
    while page.events:
        yield from page.events
        page = events.page(after=page.next, lease_id=lease_id)
