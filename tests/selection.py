"""Which modules of tests need not be imported, as `-m` takes all their tests out of the run, and what runs whole."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = os.environ.get("LEASEHOLD_WHOLE") == "true"
"""Whether all combinations run of what the suite only has each two together of; `make soak` sets it."""
_EXCLUSIONS = re.compile(r"not \w+( and not \w+)*")
_MARKS_OF_THE_MODULE = re.compile(r"^pytestmark = (.*)$", re.MULTILINE)


def excluded_marks(expression: str) -> set[str]:
    """Return the marks that `-m` excludes, if it is a list of exclusions such as "not slow and not servers"."""
    return set(re.findall(r"not (\w+)", expression)) if _EXCLUSIONS.fullmatch(expression) else set()


def is_excluded(module: Path, expression: str) -> bool:
    """Whether `-m` excludes a mark that the module gives to all its tests, on one line `pytestmark = ...`."""
    excluded = excluded_marks(expression)
    if not excluded or module.suffix != ".py":
        return False
    lines = _MARKS_OF_THE_MODULE.findall(module.read_text(encoding="utf-8"))
    return not excluded.isdisjoint(re.findall(r"\bmark\.(\w+)", " ".join(lines)))
