"""Use that is half forgotten after each half-life, and the order by it: Slurm's Fair Tree over projects and users.

The use of a unit that is held for a second is 1 at its end, and halves with each half-life after that. So the use of
what was held from a moment to another is an integral, which is exact for any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


WHOLE: Final = ""
"""In place of a user: the whole project."""


@dataclass(frozen=True, slots=True)
class Held:
    """So many units, weighted, that somebody held over `[start, end)`, in seconds since the epoch."""

    project_id: str
    user_id: str
    units: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Use:
    """What somebody has used, in units times seconds, as it counts at the moment `at`."""

    used: float = 0.0
    at: int = 0

    def then(self, moment: int, half_life: float) -> float:
        """Return how much of it counts at a moment, which is not earlier."""
        return self.used * exp((self.at - moment) / half_life * log(2))

    def plus(self, held: Held, moment: int, half_life: float) -> Use:
        """Return the use at a moment that is not before the end of what was held besides."""
        return Use(self.then(moment, half_life) + decayed(held, moment, half_life), moment)


def decayed(held: Held, moment: int, half_life: float) -> float:
    """Return the use at a moment of what was held until then, in units times seconds."""
    rate = log(2) / half_life
    whole = -expm1((held.start - held.end) * rate) / rate
    return held.units * whole * exp((held.end - moment) * rate)


def added(
    uses: Mapping[tuple[str, str], Use], held: Iterable[Held], moment: int, half_life: float
) -> dict[tuple[str, str], Use]:
    """Return the uses that grow by what was held, at a moment: those of users, and of whole projects."""
    grown: dict[tuple[str, str], Use] = {}
    for each in held:
        for key in ((each.project_id, each.user_id), (each.project_id, WHOLE)):
            before = grown.get(key) or uses.get(key) or Use(at=moment)
            grown[key] = before.plus(each, moment, half_life)
    return grown


def level(share: float, use: float) -> float:
    """Return the level of one of several siblings, of which the one with the highest comes first.

    Without any use it is infinite, whatever the share is.
    """
    return share / use if use else inf
