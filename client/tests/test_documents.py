"""The examples of README, tutorial and guides work, one after the other, as they are written."""

from __future__ import annotations

import shlex
import subprocess
from configparser import ConfigParser
from contextlib import contextmanager
from dataclasses import replace
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

import pytest

from client.tests.conftest import Shell
from client.tests.documents import ROOT, Example, Terminal, agrees, examples_of
from tests.processes import BIN, running, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from client.tests.conftest import Inside
    from tests.processes import Options, Program

# Each runs dozens of programs, which take minutes on a busy machine; each of them has a limit of its own.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

_GUIDES = ("command-line", "lease-templates", "leases-in-your-calendar", "together-or-apart", "what-you-own")
GUIDES = tuple(ROOT / "docs" / "guides" / f"{name}.md" for name in _GUIDES)
PROGRAM = "leasehold "
ENDLESS = {"--follow", "--watch"}
ENDED = "5f0c…"
"""The ID of a lease that a project ends, because it uses what the project owns."""
OTHER = "3b1c…"
"""The ID of another project."""
EVERYTHING = "everything"
"""The lease that the welcome says is refused."""
REFUSED = "Not enough hosts available: 12 asked, "
START = "make run"
PRICED = "leasehold-standalone --config-file etc/leasehold/priced.conf"
OF_MAKE = {START, "make test"}
"""Commands that start the service and this test itself."""


def run_all(inside: Inside, shell: Shell, page: Path, prompt: str) -> int:
    """Run our commands of a page, and return how many there were. A command is refused only where the page says so.

    The shell runs those that do not end by themselves.
    """
    count = 0
    for example in examples_of(page, prompt):
        if not example.command.startswith(PROGRAM):
            continue
        count += 1
        words = shlex.split(example.command.removeprefix(PROGRAM).replace(OTHER, "course"))
        if ENDED in words:
            (owned,) = inside.ok("owned", "resource", "list", "-f", "json").json
            (words[-1],) = (each["id"] for each in owned["leases"])
        if ENDLESS & set(words):
            assert first_line(shell, words)
        elif example.shown.startswith(REFUSED) or EVERYTHING in words:
            said = inside(*words)
            assert (said.status, said.err.startswith(REFUSED)) == (1, True), said.err
            assert f"  leasehold lease create {words[2]} --from " in said.err
        else:
            inside.ok(*words)
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


@contextmanager
def just_started(folder: Path, options: Options | None = None) -> Iterator[tuple[Program, Terminal]]:
    """Run a service as `make run` does, and yield it with a terminal beside it, in which nothing was typed yet."""
    with running("leasehold-standalone", options=options or {}) as service:
        environ = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "TZ": "UTC", "COLUMNS": "80"}
        # Where the sandbox is, for the commands that change it.
        environ["LEASEHOLD_STATE"] = str(service.log.parent)
        yield service, Terminal(environ, folder, service.root)


def follow(page: Path, service: Program, terminal: Terminal) -> list[Example]:
    """Do all that a page says up to a second service, and return it."""
    examples = list(takewhile(lambda each: each.command != PRICED, examples_of(page, "$ ", fenced=True)))
    for example in examples:
        command = example.command.partition("  #")[0].rstrip()
        if command not in OF_MAKE:
            terminal.follow(example)
        elif command == START and example.shown:
            said = service.log.read_text().replace(service.root, "http://127.0.0.1:1234")
            assert agrees(said, example.shown), said
    return examples


@pytest.mark.timeout(900)
def test_a_newcomer_follows_every_page_in_one_sequence(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The README, the tutorial, the guides of commands, and what `make run` has printed."""
    with just_started(tmp_path) as (service, terminal):
        assert len(follow(ROOT / "README.md", service, terminal)) > 10
        examples = follow(ROOT / "docs" / "tutorial.md", service, terminal)
        assert len(examples) > 20
        assert examples[0].command == START
        shell = Shell({**terminal.environ, "OS_AUTH_TYPE": "none", "OS_ENDPOINT": service.url})
        monkeypatch.setenv("OS_ENDPOINT", service.url)
        inside.ok("host", "set", "gpu-03", "--owner", "demo")
        # The guides show a cloud in which nothing is broken: the manager must have seen the tutorial's host again.
        listing = ("resource", "list", "physical:host", "-f", "json")
        wait_for(lambda: {each["health"] for each in inside.ok(*listing).json} == {"healthy"})
        counts = {page.stem: run_all(inside, shell, page, "$ ") for page in GUIDES}
        assert counts.pop("command-line") > 50
        assert list(counts.values()) == [6, 3, 2, 10]
        assert run_all(inside, shell, ROOT / "src" / "leasehold" / "cmd" / "standalone.py", "  ") == 3


def test_a_project_at_the_edge_of_its_budget_follows_the_rest_of_the_tutorial(tmp_path: Path) -> None:
    """With the service that it starts: the file of prices that its configuration names."""
    config = ConfigParser()
    config.read(ROOT / PRICED.rpartition(" ")[2])
    assert config.sections() == ["price"]
    examples = dropwhile(lambda each: each.command != PRICED, examples_of(ROOT / "docs" / "tutorial.md", fenced=True))
    options = {"price": {"file": ROOT / config["price"]["file"]}}
    with just_started(tmp_path, options) as (service, plain):
        terminal = replace(plain, environ={**plain.environ, "OS_ENDPOINT": service.url})
        wanted = [each for each in examples if each.command != PRICED]
        for each in wanted:
            terminal.follow(each)
    assert len(wanted) > 10


def test_what_make_run_starts() -> None:
    done = subprocess.run(["make", "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "leasehold-standalone" in done.stdout


@pytest.mark.parametrize(
    ("said", "shown", "same"),
    [
        ("| ID 3f2a | now |", "| ID 3f2a | then |", False),
        ("one\ntwo\nthree", "one\n…\nthree", True),
        ("one\ntwo", "one\n…\nthree", False),
        ("2031-05-01 10:00 UTC (in 2 h 59 min)  ok", "2030-01-01 09:59 UTC (in 3 h)  ok", True),
        ("+---+\n| a |\n+---+", "+-----+\n| a   |\n+-----+", True),
        ("██··█ 3 free", "█···███ 3 free", True),
        ("██··█ 3 free", "█···███ 4 free", False),
        ("", "something", False),
        ("something", "", False),
    ],
)
def test_what_counts_as_the_same(said: str, shown: str, same: bool) -> None:  # noqa: FBT001 - a column of the table.
    assert agrees(said, shown) is same


def test_a_page_that_says_something_else_fails(tmp_path: Path) -> None:
    terminal = Terminal({"PATH": "/usr/bin:/bin"}, tmp_path, "")
    terminal.follow(Example("WORD=here", ""))
    terminal.follow(Example("echo $WORD", "here"))
    with pytest.raises(AssertionError, match=r"The page shows:\nthere"):
        terminal.follow(Example("echo $WORD", "there"))
