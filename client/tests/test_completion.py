"""Completion, in bash, zsh and fish themselves."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.servers.base import ServerMissingError, find_program

if TYPE_CHECKING:
    from pathlib import Path

    from client.tests.conftest import Shell

pytestmark = pytest.mark.slow

TYPED = (
    ("leasehold le", {"lease"}),
    ("leasehold lease ex", {"extend"}),
    ("leasehold host property l", {"list"}),
    ("leasehold lease create --wa", {"--wait", "--wait-timeout"}),
)
# After an argument bash completes no more.
AFTER_AN_ARGUMENT = (("leasehold lease create mine --ear", {"--earliest"}),)

# What the package bash-completion brings: the words that are typed, and the one that the cursor is in.
BASH = """
_get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}"); cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}
}
"""
# What zsh has only where somebody types: it adds those candidates that begin with what is typed.
ZSH = """
compadd() { shift; print -l -- ${(M)@:#$PREFIX*} }
_files() { print a-file }
compdef() { }
"""


def program(name: str) -> str:
    found = find_program(name)
    if found is None:
        raise ServerMissingError(f"{name} is not installed; on Debian it is in the package {name}.")
    return found


def offered(*command: str) -> set[str]:
    """Return the words that a shell prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(("typed", "wanted"), TYPED)
def test_bash(shell: Shell, typed: str, wanted: set[str]) -> None:
    script = shell.ok("complete").out
    asking = f"COMP_WORDS=({typed}); COMP_CWORD={len(typed.split()) - 1}; _leasehold; echo ${{COMPREPLY[@]}}"
    assert offered("bash", "-c", BASH + script + asking) == wanted


def test_zsh(shell: Shell) -> None:
    script = shell.ok("complete", "--shell", "zsh").out
    assert script.startswith("#compdef leasehold\n")
    for typed, wanted in (*TYPED, *AFTER_AN_ARGUMENT, ("leasehold lease show m", {"a-file"})):
        words = typed.split()
        asking = f"words=({typed}); CURRENT={len(words)}; PREFIX={words[-1]}; _leasehold"
        assert offered(program("zsh"), "-f", "-c", ZSH + script + asking) == wanted, typed


def test_fish(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "leasehold.fish"
    script.write_text(shell.ok("complete", "--shell", "fish").out)
    for typed, wanted in (*TYPED, *AFTER_AN_ARGUMENT, ("leasehold lease show m", set())):
        asking = f"source {script}; complete -C '{typed}'"
        assert offered("env", f"HOME={tmp_path}", program("fish"), "--no-config", "-c", asking) == wanted, typed
