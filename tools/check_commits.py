"""Checks the messages of new commits: a subject of at most 72 characters, a blank line, a body that says why.

New are those after `BASE`, the last commit from before this rule. A tree without Git's history, such as an archive, has
nothing to check. `--file F` checks one message instead, for a commit-msg hook.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = "629a3d30f21d"
MOST = 72
"""Characters of a subject."""


def main(arguments: list[str]) -> int:
    """Print what is wrong with the messages; returns 1 if anything is."""
    if arguments[:1] == ["--file"]:
        messages = {arguments[1]: Path(arguments[1]).read_text(encoding="utf-8")}
    else:
        messages = new_messages()
    wrong = [f"{name}: {fault}" for name, message in messages.items() if (fault := fault_of(message))]
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


def new_messages() -> dict[str, str]:
    """Return the messages of the commits after `BASE` by short hash; none where Git does not know that commit."""
    known = _git("cat-file", "-e", f"{BASE}^{{commit}}")
    if known is None:
        return {}
    log = _git("log", "--no-merges", "--format=%h%x00%B%x01", f"{BASE}..HEAD") or ""
    entries = (entry.strip("\n").partition("\0") for entry in log.split("\1") if entry.strip())
    return {name: message for name, _, message in entries}


def fault_of(message: str) -> str | None:
    """Return what is wrong with a message, None for a good one."""
    subject, _, rest = message.partition("\n")
    if len(subject) > MOST:
        return f"the subject has {len(subject)} characters, {MOST} at most: {subject!r}"
    if rest and not rest.startswith("\n"):
        return f"the line after the subject has to be blank: {subject!r}"
    if not rest.strip():
        return f"the body has to say why: {subject!r}"
    return None


def _git(*arguments: str) -> str | None:
    """Return what Git prints; None where it fails or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
