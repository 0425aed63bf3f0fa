"""`calendar`: when which hosts are free, or how many, drawn in the terminal."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking
from leasehold_client.cli.output.columns import one_line
from leasehold_client.cli.output.drawing import CalendarRow, FreeCount, Style, draw, draw_counts
from leasehold_client.cli.reading.lease_options import WEEK, add_span
from leasehold_client.errors import ApiError
from leasehold_client.event import LATEST, LONGEST_WAIT
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    import argparse
    from datetime import tzinfo
    from typing import TextIO

    from leasehold_client import Client

_CLEAR = "\x1b[H\x1b[2J"
_NO_TERMINAL = (100, 24)


class ShowCalendar(Talking):
    """Draw when which hosts are free, as wide as the terminal; for who may not list hosts, how many are."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_span(parser, self.clock, "begin")
        parser.add_argument("--ascii", action="store_true", help="use letters of ASCII only")
        parser.add_argument("--no-color", action="store_true", help="use no colour; so does the variable NO_COLOR")
        parser.add_argument("--watch", action="store_true", help="draw it again when something happens, until Ctrl-C")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        if not parsed_args.watch:
            self._write(self._lines(self.client, parsed_args))
            return
        cursor, client = self.client.events.page(after=LATEST).next, self.client.patiently()
        while True:
            self._write([_CLEAR + "", *self._lines(client, parsed_args)])
            # Without an event it is drawn again as well, because time goes on.
            cursor = client.events.page(after=cursor, wait=LONGEST_WAIT).next

    def _lines(self, client: Client, options: argparse.Namespace) -> list[str]:
        start: datetime = options.start or self.clock.now().replace(second=0, microsecond=0)
        end: datetime = options.end or start + (options.lasts or WEEK)
        end, style = max(end, start + timedelta(minutes=1)), self._style(options)
        try:
            return draw(_rows(client), start, end, style, self.clock.now())
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            return self._counted(client, start, end, style)

    def _counted(self, client: Client, start: datetime, end: datetime, style: Style) -> list[str]:
        """Return the calendar of who may not list hosts: how many are free. What has passed is not told."""
        begin = max(start, self.clock.now())
        found = client.availability.show({"resource_type": HOST}, begin, max(end, begin + timedelta(minutes=1)))
        counts = [FreeCount(step.start, step.end, step.free) for step in found.steps]
        return draw_counts(one_line(found.unit), counts, start, end, style)

    def _style(self, options: argparse.Namespace) -> Style:
        style = style_of(self.app.stdout, self.clock.zone, ascii_only=options.ascii)
        return replace(style, colour=style.colour and not options.no_color)

    def _write(self, lines: list[str]) -> None:
        self.app.stdout.write("\n".join(lines) + "\n")
        self.app.stdout.flush()


def _rows(client: Client) -> list[CalendarRow]:
    taken = {
        each.host_id: [(booking.start, booking.end) for booking in each.bookings] for each in client.allocations.list()
    }
    hosts = sorted(client.hosts.list(), key=lambda host: host.name)
    return [CalendarRow(one_line(host.name), taken.get(host.id, []), host.reservable) for host in hosts]


def style_of(stdout: TextIO, zone: tzinfo, *, ascii_only: bool) -> Style:
    """Return the style of what is drawn there: as wide as the terminal, in colours if there is one."""
    encoding = (stdout.encoding or "ascii").lower()
    return Style(
        width=shutil.get_terminal_size(_NO_TERMINAL).columns,
        zone=zone,
        colour=stdout.isatty() and "NO_COLOR" not in os.environ,
        ascii=ascii_only or not encoding.startswith("utf"),
    )
