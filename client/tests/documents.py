"""The examples of a page: the commands that it shows, and what it shows below each.

A terminal runs them as they are written, one after the other, and compares what is said. Times, durations, identifiers
and widths of tables differ from run to run, so both sides are compared without them. `…` stands for what is left out.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent.parent
LEFT_OUT = "…"
WRITTEN_ADDRESS = "http://127.0.0.1:1234"
WITHIN = 60
READS = re.compile(r"leasehold (?:lease (?:show|list|resources|events)|budget list|host list|calendar|availability)\b")
"""Commands that change nothing, so that they can be asked again until what the page says has happened."""
_VARYING = (
    (re.compile(r"^[+-]+$", re.MULTILINE), ""),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z| UTC)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "TIME"),
    (re.compile(r"\b\d+ (?:s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?"), "SPAN"),
    (re.compile(r"(█)+"), "█"),
    (re.compile(r"(·)+"), "·"),
    (re.compile(r"(?:\|TIME *)+"), "|TIME"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r"^ | $", re.MULTILINE), ""),
    (re.compile(r"\n{2,}"), "\n"),
)


@dataclass(frozen=True)
class Example:
    """A command, and the lines that the page shows below it."""

    command: str
    shown: str


def examples_of(page: Path, prompt: str = "$ ", *, fenced: bool = False) -> Iterator[Example]:
    """Yield the examples of a page; with `fenced` only those of its blocks of a console."""
    for block in _consoles(page) if fenced else [page.read_text()]:
        command: str | None = None
        shown: list[str] = []
        for line in block.splitlines():
            if command is not None and command.endswith("\\"):
                command = f"{command}\n{line}"
            elif line.startswith(prompt):
                if command is not None:
                    yield Example(command, "\n".join(shown))
                command, shown = line.removeprefix(prompt), []
            else:
                shown.append(line)
        if command is not None:
            yield Example(command, "\n".join(shown))


def _consoles(page: Path) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def without_what_varies(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.strip()


def agrees(said: str, shown: str) -> bool:
    """Say whether what was said is what the page shows, apart from what varies and what is left out."""
    parts = [re.escape(part.strip()) for part in without_what_varies(shown).split(LEFT_OUT)]
    return re.fullmatch(r"\s*.*?\s*".join(parts), without_what_varies(said), re.DOTALL) is not None


@dataclass(frozen=True)
class Terminal:
    """A shell that keeps its variables from one command to the next."""

    environ: Mapping[str, str]
    folder: Path
    address: str
    """Where the service is, in place of the address that pages name."""

    def run(self, command: str) -> str:
        """Run a command and return all that it said, as a terminal shows it."""
        kept = self.folder / "variables"
        kept.touch()
        script = f". {kept}\nset -a\n{command.replace(WRITTEN_ADDRESS, self.address)}\nexport -p > {kept}"
        done = subprocess.run(
            ["bash", "-c", script],
            env=dict(self.environ),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WITHIN,
            check=False,
        )
        return done.stdout

    def follow(self, example: Example) -> None:
        """Run an example; raises AssertionError if something else is said than the page shows."""
        said = [self.run(example.command)]

        def seen() -> bool:
            if not agrees(said[-1], example.shown) and READS.match(example.command):
                said.append(self.run(example.command))
            return agrees(said[-1], example.shown)

        if READS.match(example.command):
            wait_for(seen)
        assert agrees(said[-1], example.shown), f"$ {example.command}\n{said[-1]}\nThe page shows:\n{example.shown}"
