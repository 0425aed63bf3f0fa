"""Completion, in the shell for bash, and by its table for zsh and fish."""

from __future__ import annotations

import subprocess
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from leasehold_client.cli.completion import CompleteFish, CompleteZsh

if TYPE_CHECKING:
    from client.tests.conftest import Shell

FIRST = "host lease"
FOLLOWING = [("host", "list"), ("host_list", "-h --help --sort-by"), ("lease", "create extend")]

# What the package bash-completion brings: the words that are typed, and the one that the cursor is in.
HELPER = """
_get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}"); cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "offered"),
    [("leasehold le", {"lease"}), ("leasehold lease ex", {"extend"}), ("leasehold lease create --wa", {"--wait"})],
)
def test_bash(shell: Shell, typed: str, offered: set[str]) -> None:
    script = shell.ok("complete").out
    words = typed.split()
    asking = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _leasehold; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", HELPER + script + asking], check=True, capture_output=True, text=True)
    assert offered <= set(done.stdout.split())


def test_zsh() -> None:
    output = StringIO()
    CompleteZsh("leasehold", output).write(FIRST, FOLLOWING)
    lines = [line.strip() for line in output.getvalue().splitlines()]
    assert lines[0] == "#compdef leasehold"
    assert lines[4:8] == ["/ 'host lease'", "host list", "'host list' '-h --help --sort-by'", "lease 'create extend'"]


def test_fish() -> None:
    output = StringIO()
    CompleteFish("leasehold", output).write(FIRST, FOLLOWING)
    lines = output.getvalue().splitlines()
    assert "complete -c leasehold -n '__leasehold_after' -a 'host lease'" in lines
    assert "complete -c leasehold -n '__leasehold_after lease' -a 'create extend'" in lines
    assert "complete -c leasehold -n '__leasehold_within host list' -l sort-by" in lines
    assert "complete -c leasehold -n '__leasehold_within host list' -s h" in lines
