"""Run a program that switches machines, for a bounded time and without a shell."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST = 300
"""How much of what a program says is told, in characters."""
NOTHING_MORE: Mapping[str, str] = {}


def run(command: Sequence[str], what: str, seconds: float, environment: Mapping[str, str] = NOTHING_MORE) -> str:
    """Return what a program prints; `what` says in errors what it was run for, because a command may hold secrets.

    Raises PowerError, with the end of what it says on its standard error, if it fails or takes longer.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own program, without a shell
            command,
            capture_output=True,
            check=False,
            encoding="utf-8",
            env={**os.environ, **environment},
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise PowerError(f"The program did not end within {seconds:g} seconds ({what}).") from None
    except OSError as error:
        raise PowerError(f"The program could not be run: {error.strerror}.") from None
    if done.returncode:
        raise PowerError(f"The program ended with {done.returncode} ({what}): {done.stderr.strip()[-LONGEST:]}")
    return done.stdout
