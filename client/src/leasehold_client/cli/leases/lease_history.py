"""`lease history`: what has changed in a lease, when and by whom, and what it held."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking
from leasehold_client.cli.leases.lease_list import add_lease
from leasehold_client.cli.output.columns import one_line
from leasehold_client.cli.output.shown import show_moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from leasehold_client.lease_history import Change, LeaseHistory, Segment

_WIDEST_TYPE = 24


class ShowHistory(Talking):
    """Print what has changed in a lease, when and by whom, oldest first, and what it held; also of a deleted one."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease, also of a deleted one")
        parser.add_argument("--json", action="store_true", help="print it as one line of JSON")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        leases = self.client.leases
        found = leases.history(leases.id_of_any(parsed_args.lease))
        lines = [json.dumps(found.values)] if parsed_args.json else map(one_line, self._lines(found))
        for line in lines:
            self.app.stdout.write(f"{line}\n")

    def _lines(self, found: LeaseHistory) -> Iterator[str]:
        for change in found.changes:
            # What the service has noted for itself alone is nothing to people.
            if change.type or change.first or change.differences:
                yield self._line(change)
            for each in change.differences:
                part = "" if each.part == "lease" else f"{each.part} {each.id}  "
                if not change.first:
                    yield f"    {part}{each.key}: {_plain(each.before)} -> {_plain(each.after)}"
        for held in found.held or ():
            yield self._held(held)

    def _line(self, change: Change) -> str:
        who = " ".join(each for each in (change.by, change.user_id) if each)
        return f"{show_moment(change.time, self.clock.zone)}  {change.type or '-':{_WIDEST_TYPE}}  {who or '-'}"

    def _held(self, held: Segment) -> str:
        start, end = (show_moment(each, self.clock.zone) for each in (held.start, held.end))
        until = "now" if held.going_on else end
        slots = "" if held.slots == 1 else f", {held.slots} slots"
        return f"held from {start} to {until}: {held.name or held.resource_type}{slots}"


def _plain(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)
