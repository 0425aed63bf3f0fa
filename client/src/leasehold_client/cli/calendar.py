"""`calendar`: when which hosts are free, drawn in the terminal."""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli import typed
from leasehold_client.cli.base import Talking
from leasehold_client.cli.drawing import Row, Style, draw
from leasehold_client.cli.times import DURATIONS
from leasehold_client.event import LATEST, LONGEST_WAIT

if TYPE_CHECKING:
    import argparse

WEEK = timedelta(days=7)
_CLEAR = "\x1b[H\x1b[2J"
_NO_TERMINAL = (100, 24)


class ShowCalendar(Talking):
    """Draw when which hosts are free, as wide as the terminal. For who may list hosts."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        moment = typed.moment_of(self.clock)
        parser.add_argument("--from", dest="start", type=moment, metavar="<time>", help="begin (default: now)")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--until", dest="end", type=moment, metavar="<time>", help="end")
        end.add_argument(
            "--for",
            dest="lasts",
            type=typed.duration,
            metavar="<duration>",
            help=f"how long, {DURATIONS} (default 7d)",
        )
        parser.add_argument("--ascii", action="store_true", help="use letters of ASCII only")
        parser.add_argument("--no-color", action="store_true", help="use no colour; so does the variable NO_COLOR")
        parser.add_argument("--watch", action="store_true", help="draw it again when something happens, until Ctrl-C")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        if not parsed_args.watch:
            self._write(self._lines(parsed_args))
            return
        cursor = self.client.events.page(after=LATEST).next
        while True:
            self._write([_CLEAR + "", *self._lines(parsed_args)])
            # Without an event it is drawn again as well, because time goes on.
            cursor = self.client.events.page(after=cursor, wait=LONGEST_WAIT).next

    def _lines(self, options: argparse.Namespace) -> list[str]:
        start: datetime = options.start or self.clock.now().replace(second=0, microsecond=0)
        end: datetime = options.end or start + (options.lasts or WEEK)
        return draw(self._rows(), start, max(end, start + timedelta(minutes=1)), self._style(options))

    def _rows(self) -> list[Row]:
        taken = {
            each.host_id: [(booking.start, booking.end) for booking in each.bookings]
            for each in self.client.allocations.list()
        }
        hosts = sorted(self.client.hosts.list(), key=lambda host: host.name)
        return [Row(host.name, taken.get(host.id, []), host.reservable) for host in hosts]

    def _style(self, options: argparse.Namespace) -> Style:
        encoding = (self.app.stdout.encoding or "ascii").lower()
        return Style(
            width=shutil.get_terminal_size(_NO_TERMINAL).columns,
            zone=self.clock.zone,
            colour=self.app.stdout.isatty() and not options.no_color and "NO_COLOR" not in os.environ,
            ascii=options.ascii or not encoding.startswith("utf"),
        )

    def _write(self, lines: list[str]) -> None:
        self.app.stdout.write("\n".join(lines) + "\n")
        self.app.stdout.flush()
