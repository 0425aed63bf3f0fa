"""The recorded counts in `kept.toml`, and their comparison with new counts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Counts = dict[str, dict[str, int]]
"""The counts, by use case and then by quantity."""

PAGE = Path(__file__).parent / "kept.toml"
RENEW = "python -m tests.counts --write"
HEAD = f"""# What each use case costs, exactly; `{RENEW}` writes this file from what is counted.
#
# In the sections of the databases: SQL statements, commits of transactions that may write, characters of parameters,
# and rows read (SQLite does not say). In [cloud]: calls to the cloud, and how many of them change something; a step
# that is done again changes nothing. In [answers]: bytes of the API's answers. A number that grows has to be worth it.
"""


def read() -> dict[str, Counts]:
    """Return the recorded counts by section; an empty dict when the file does not exist."""
    return tomllib.loads(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}


def write(sections: Mapping[str, Counts]) -> None:
    """Replace the recorded counts with these."""
    text = HEAD
    for section, counts in sections.items():
        lines = (f'"{name}" = {{ {_figures(cost)} }}\n' for name, cost in counts.items())
        text += f"\n[{section}]\n{''.join(lines)}"
    PAGE.write_text(text, encoding="utf-8")


def _figures(cost: Mapping[str, int]) -> str:
    return ", ".join(f"{what} = {count}" for what, count in cost.items())


def differences(kept: Counts, counted: Counts) -> Iterator[str]:
    """Yield a sentence for each count that differs from the recorded one."""
    for name in sorted(kept.keys() | counted.keys()):
        if name not in counted:
            yield f"{name}: kept, but no longer counted; renew with `{RENEW}`"
        elif name not in kept:
            yield f"{name}: not kept yet; renew with `{RENEW}`"
        else:
            yield from _compared(name, kept[name], counted[name])


def _compared(name: str, kept: Mapping[str, int], counted: Mapping[str, int]) -> Iterator[str]:
    for what in sorted(kept.keys() | counted.keys()):
        before, now = kept.get(what, 0), counted.get(what, 0)
        if now > before:
            yield f"{name}: {what} grew from {before} to {now}"
        elif now < before:
            yield f"{name}: better: {what} went from {before} to {now}; lower the number with `{RENEW}`"
