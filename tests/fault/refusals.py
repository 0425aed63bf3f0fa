"""A cloud that refuses one call: the n-th of those that are made from some moment on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import Fault, Faults

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.factory import World

PORTS = ("hypervisors", "aggregates", "flavors", "servers", "images", "providers", "networks")


class Refusals(Faults):
    """Counts the calls, and refuses those whose places are `refused`; `calls` are the verbs in their order."""

    refused: Collection[int] = ()

    def begin(self, refused: Collection[int] = ()) -> None:
        """Count from here on."""
        self.calls: list[str] = []
        self.refused = refused

    def take(self, verb: str) -> Fault | None:
        """Return the refusal of this call, None for a call that goes well."""
        self.calls.append(verb)
        if len(self.calls) - 1 not in self.refused:
            return None
        return Fault(verb, error="before", permanent=True)


def refusing(world: World) -> Refusals:
    """Let the world's cloud refuse what the returned faults are told."""
    refusals = Refusals(world.engine)
    refusals.begin()
    for name in PORTS:
        getattr(world.cloud, name).faults = refusals
    return refusals
