"""A cloud that refuses selected calls, counted from a given moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import Fault, Faults

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.factory import World

PORTS = ("hypervisors", "aggregates", "flavors", "servers", "images", "providers", "networks")


class Refusals(Faults):
    """Counts the calls and refuses those whose numbers are in `refused`; `calls` lists the verbs in order."""

    refused: Collection[int] = ()

    def begin(self, refused: Collection[int] = ()) -> None:
        """Restart the count."""
        self.calls: list[str] = []
        self.refused = refused

    def take(self, verb: str) -> Fault | None:
        """Return the refusal of this call, or None for a call that succeeds."""
        self.calls.append(verb)
        if len(self.calls) - 1 not in self.refused:
            return None
        return Fault(verb, error="before", permanent=True)


def refusing(world: World) -> Refusals:
    """Make the world's cloud follow the returned faults."""
    refusals = Refusals(world.engine)
    refusals.begin()
    for name in PORTS:
        getattr(world.cloud, name).faults = refusals
    return refusals
