"""Slurm's lists of nodes as sets of numbers."""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "n"
"""The nodes are called n0, n1 and so on."""
_LIST: Final = re.compile(rf"{PREFIX}(?:(\d+)|\[([\d,-]+)\])(?:,|$)")


def numbers(nodes: str) -> frozenset[int]:
    """Return the numbers of nodes such as `n[0-2,5]`, `n7` or `n1,n3`; raises ValueError for other names."""
    found: set[int] = set()
    at = 0
    while at < len(nodes):
        match = _LIST.match(nodes, at)
        if match is None:
            message = f"This is no list of nodes: {nodes}"
            raise ValueError(message)
        for part in (match[1] or match[2]).split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
        at = match.end()
    return frozenset(found)
