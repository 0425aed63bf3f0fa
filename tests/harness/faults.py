"""A cloud whose calls fail as a function decides, in process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from leasehold.cloud.sandbox.cloud import SandboxCloud
from leasehold.cloud.sandbox.faults import Fault, Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.factory import World

PORTS = ("hypervisors", "aggregates", "flavors", "servers", "images", "providers", "networks")


class Choose(Protocol):
    """Returns the fault of a call, or None for a call that succeeds."""

    def __call__(self, verb: str, number: int) -> Fault | None: ...


class ChosenFaults(Faults):
    """Lists the verbs of all calls in `calls`, and gives each call the fault that `choose` returns for it."""

    choose: Choose | None = None

    def begin(self, choose: Choose | None = None) -> None:
        """Restart the list."""
        self.calls: list[str] = []
        self.choose = choose

    def take(self, verb: str) -> Fault | None:
        """Return the fault of this call."""
        self.calls.append(verb)
        return self.choose(verb, len(self.calls) - 1) if self.choose is not None else None


def with_chosen_faults(world: World, sleep: Callable[[float], None] | None = None) -> tuple[World, ChosenFaults]:
    """Return the world with a cloud that follows the returned faults; a slow call lets `sleep` pass the time."""
    faults = ChosenFaults(world.engine) if sleep is None else ChosenFaults(world.engine, sleep=sleep)
    faults.begin()
    for name in PORTS:
        getattr(world.cloud, name).faults = faults
    cloud = replace(world.cloud, faults=faults)
    assert isinstance(cloud, SandboxCloud)
    return replace(world, cloud=cloud), faults
