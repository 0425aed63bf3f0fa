"""Runs our command line in a terminal of tmux, and reads what is on its screen."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.processes import BIN, wait_for
from tests.servers.base import ServerMissingError, find_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from client.tests.conftest import Shell

HEIGHT = 200
_DONE = "finished with"


@dataclass(frozen=True)
class Screen:
    """A terminal of so many columns, whose program has ended."""

    lines: tuple[str, ...]
    """What is on it, without the empty lines below."""
    unwrapped: tuple[str, ...]
    """The same lines as the program wrote them; a longer one was wider than the screen."""
    coloured: str
    """The same with the sequences that set colours."""


@contextmanager
def _server(width: int) -> Iterator[list[str]]:
    """Yield the words that begin a command to a tmux of our own, with a terminal of this width."""
    program = find_program("tmux")
    if program is None:
        raise ServerMissingError("tmux is not installed; on Debian it is in the package tmux.")
    tmux = [program, "-L", f"leasehold-{uuid4()}", "-f", "/dev/null"]
    # The terminal's own shell waits, so that the screen stays when the program has ended.
    start = ["new-session", "-d", "-x", str(width), "-y", str(HEIGHT), "sh"]
    subprocess.run([*tmux, *start], check=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PS1": ""})
    try:
        yield tmux
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)


def on_a_screen(shell: Shell, width: int, *words: str) -> Screen:
    """Run a command of ours on a terminal of this width, and return its screen when the command has ended."""
    environ = {**shell.environ, **shell.more, "LANG": "C.UTF-8", "TERM": "tmux-256color"}
    # Of a terminal the width is the terminal's.
    del environ["COLUMNS"]
    program = shlex.join([str(BIN / shell.program[0]), *shell.program[1:], *words])
    variables = shlex.join(f"{name}={value}" for name, value in environ.items())
    with _server(width) as tmux:
        typed = f"clear; env -i {variables} {program}; echo {_DONE} $?"

        def capture(*options: str) -> str:
            done = subprocess.run([*tmux, "capture-pane", "-p", *options], check=True, capture_output=True, text=True)
            return done.stdout

        subprocess.run([*tmux, "send-keys", "-l", typed], check=True)
        subprocess.run([*tmux, "send-keys", "Enter"], check=True)
        wait_for(lambda: f"\n{_DONE} " in capture())
        assert f"\n{_DONE} 0" in capture(), capture()
        return Screen(_above(capture()), _above(capture("-J")), "\n".join(_above(capture("-e"))))


def _above(text: str) -> tuple[str, ...]:
    lines = text.rstrip().splitlines()
    return tuple(line.rstrip() for line in lines[: next(n for n, line in enumerate(lines) if line.startswith(_DONE))])
