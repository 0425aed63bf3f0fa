"""The parts of the benchmark: the same trace under what an operator has configured, and what people know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bench.simulation.fillers import filling
from bench.simulation.site import SETTINGS
from bench.simulation.sleeping import sleeping
from bench.simulation.source import DAYS
from leasehold.features.power.options import PowerSettings

if TYPE_CHECKING:
    from leasehold.conf.settings import Settings

SPARES: Final = 8
"""Idle hosts that stay on when hosts sleep."""
NOW_DAYS: Final = 5
"""How many days show what spares cost those who ask for now."""
LOOSE: Final = 0.4
"""The share of those who need not ask for a certain time that ask for a flexible lease, where they know of it."""
LENDING: Final = 0.8
"""The share of those who keep hosts that they do not use any more that lends them, where they know of it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A simulation of the first `days` of the trace; of those who may be flexible a share of `loose` is.

    Of those who have done their work, and would keep their hosts, a share of `lending` lends them.
    """

    title: str
    settings: Settings = SETTINGS
    loose: float = 0.0
    lending: float = 0.0
    days: float = DAYS

    def with_spares(self, spares: int) -> Part:
        """Return it with so many idle hosts that stay on; raises ValueError where no host sleeps."""
        if not self.settings.of(PowerSettings).classes:
            message = f"No host sleeps in the part {self.title!r}, so it has no spares."
            raise ValueError(message)
        settings = sleeping(spares)
        return replace(self, settings=filling(settings, spares) if self.loose else settings)


AS_NOW: Final = Part("as now")
ASLEEP: Final = Part("with sleep", sleeping(SPARES))
FILLED: Final = Part("with sleep, fillers and flexible leases", filling(sleeping(SPARES), SPARES), LOOSE)
LENT: Final = replace(FILLED, title="as before, and who is done lends the rest", lending=LENDING)
PARTS: Final = {
    "month": AS_NOW,
    "month-asleep": ASLEEP,
    "month-filled": FILLED,
    "month-lent": LENT,
    **{
        f"now-{spares}": replace(ASLEEP.with_spares(spares), title=f"{spares} spares", days=NOW_DAYS)
        for spares in (0, 8, 32)
    },
}
"""By name, which the names of their figures begin with."""
