"""What a person sees: the commands in a terminal of tmux, narrow and wide, and without one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from client.tests.tmux import on_a_screen

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow

ESCAPE = "\x1b["
GREEN = "\x1b[32m"
COMMANDS = (
    ("calendar", "--for", "6h"),
    ("availability", "--for", "1d"),
    ("lease", "list"),
    ("lease", "show", "busy"),
    ("host", "list"),
    ("allocation", "list", "host"),
    ("property", "list"),
    ("window", "search", "--hosts", "8", "--for", "1h"),
)


@pytest.mark.parametrize("width", [80, 200])
def test_no_line_is_wider_than_the_screen(shell: Shell, client: Client, width: int) -> None:
    booked(client, "busy", timedelta(hours=2), amount=5)
    for words in COMMANDS:
        screen = on_a_screen(shell, width, *words)
        assert screen.lines == screen.unwrapped, words
        assert max(map(len, screen.lines)) <= width


def test_the_calendar_uses_the_whole_screen(shell: Shell, client: Client) -> None:
    booked(client, "busy", timedelta(hours=2), amount=5)
    # In five hours there are 60 columns of five minutes, or 150 of two.
    narrow, wide = (on_a_screen(shell, width, "calendar", "--for", "5h").lines for width in (80, 200))
    assert 70 < max(map(len, narrow)) <= 80
    assert 150 < max(map(len, wide)) <= 200


def test_what_is_free_stands_out(shell: Shell, client: Client) -> None:
    """Free is a full block in green, and taken a dim dot."""
    booked(client, "busy", timedelta(hours=2), amount=12)
    screen = on_a_screen(shell, 80, "calendar", "--for", "6h")
    rows = [line for line in screen.coloured.splitlines() if "cmp-" in line or "gpu-" in line]
    assert len(rows) == 12
    for row in rows:
        first, *rest = row.split(GREEN)[1:]
        assert first.startswith("█")
        assert "·" in row
        assert not any(part.startswith("·") for part in (first, *rest))


def test_colours_are_for_terminals_alone(shell: Shell) -> None:
    for words in COMMANDS[:3]:
        assert ESCAPE not in shell.ok(*words).out
    assert GREEN not in on_a_screen(shell, 80, "calendar", "--no-color", "--for", "6h").coloured
    assert GREEN not in on_a_screen(shell.with_environ(NO_COLOR="1"), 80, "calendar", "--for", "6h").coloured
