"""The commands of the README's first walk and of the guide work, one after the other, as they are written."""

from __future__ import annotations

import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import BIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from client.tests.conftest import Shell

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "leasehold "
ENDLESS = {"--follow", "--watch"}
EVERYTHING = "everything"
"""The lease that the README says is refused."""
REFUSED = "Not enough hosts available: 12 asked, "


def commands_of(page: Path, prompt: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of each command of ours, without the program, and the line that the page shows below it."""
    lines = [*page.read_text().splitlines(), ""]
    for line, below in pairwise(lines):
        if line.startswith(prompt + PROGRAM):
            yield shlex.split(line.removeprefix(prompt + PROGRAM)), below


def run_all(shell: Shell, page: Path, prompt: str) -> int:
    """Run the commands of a page, and return how many there were. A command is refused only where the page says so."""
    count = 0
    for words, below in commands_of(page, prompt):
        count += 1
        if ENDLESS & set(words):
            assert first_line(shell, words)
        elif below.startswith(REFUSED) or EVERYTHING in words:
            said = shell(*words)
            assert (said.status, said.err.startswith(REFUSED)) == (1, True), said.err
            assert f"  leasehold lease create {words[2]} --from " in said.err
        else:
            shell.ok(*words)
    return count


def first_line(shell: Shell, words: list[str]) -> str:
    """Return the first line of a command that does not end by itself, and stop it."""
    command = [str(BIN / "leasehold"), *words]
    with subprocess.Popen(command, env={**shell.environ}, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            return running.stdout.readline()
        finally:
            running.kill()


def test_the_first_walk_of_the_readme(shell: Shell) -> None:
    assert run_all(shell, ROOT / "README.md", "    ") == 3


def test_the_guide(shell: Shell) -> None:
    assert run_all(shell, ROOT / "docs" / "guides" / "command-line.md", "$ ") > 20


def test_the_guide_to_calendars(shell: Shell) -> None:
    assert run_all(shell, ROOT / "docs" / "guides" / "leases-in-your-calendar.md", "$ ") == 3


def test_the_guide_to_templates(shell: Shell) -> None:
    assert run_all(shell, ROOT / "docs" / "guides" / "lease-templates.md", "$ ") == 6


def test_what_the_program_says_at_its_start(shell: Shell) -> None:
    """`make run` prints what to type next."""
    assert run_all(shell, ROOT / "src" / "leasehold" / "cmd" / "standalone.py", "  ") == 3
