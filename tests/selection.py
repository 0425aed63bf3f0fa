"""Which modules need not be imported, as `-m` excludes all their tests, and which part of a product of cases runs."""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WHOLE = os.environ.get("LEASEHOLD_WHOLE") == "true"
"""Whether all combinations run of what the suite has a part of; `make soak` sets it."""
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


def part_of_product(*factors: Sequence[Any], one_in: int = 3) -> list[tuple[Any, ...]]:
    """Return one in so many combinations of these values, always the same, or each if `LEASEHOLD_WHOLE` is set.

    Those are in it whose positions add up to a multiple of `one_in`. So of two factors each value occurs, and of three
    each two values occur together, if no factor has fewer than `one_in`. Raises AssertionError if a value is left out.
    """
    every = itertools.product(*(enumerate(factor) for factor in factors))
    combined = (tuple(zip(*each, strict=True)) for each in every)
    part = [values for positions, values in combined if WHOLE or sum(positions) % one_in == 0]
    assert all(set(factor) == set(used) for factor, used in zip(factors, zip(*part, strict=True), strict=True))
    return part
