"""Runs our command line on a terminal, with a person who answers its questions."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from typing import TYPE_CHECKING

from client.tests.conftest import CLI_WITHIN, Said
from tests.processes import BIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from client.tests.conftest import Shell

_QUESTION = b"[y/N] "


def on_a_terminal(shell: Shell, words: Sequence[str], answers: Sequence[str]) -> Said:
    """Run a command whose three streams are a terminal; answer its questions in this order. All output is in `out`.

    Raises AssertionError, with the output, if it asks for more, or is not done in time: both would hang.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / shell.program[0], *shell.program[1:], *words],
        env={**shell.environ, **shell.more},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    output, waiting = b"", list(answers)
    try:
        while part := _read(ours):
            output += part
            if output.endswith(_QUESTION):
                assert waiting, output.decode()
                os.write(ours, f"{waiting.pop(0)}\n".encode())
        status = process.wait(CLI_WITHIN)
    finally:
        process.kill()
        os.close(ours)
    return Said(status, output.decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    """Return what the program writes next; nothing when it has ended, which Linux reports as an error."""
    readable, _, _ = select.select([descriptor], [], [], CLI_WITHIN)
    assert readable, f"It has written nothing for {CLI_WITHIN} seconds."
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
