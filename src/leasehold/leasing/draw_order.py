"""Which shared hosts are drawn first for a best-effort lease: a policy, chosen by name (feature A4).

`[physical:host] draw_order` names an entry point of the group `leasehold.draw_orders`, a class without arguments.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.model.draw import Drawable

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.draw_orders"


class DrawOrder(Protocol):
    """Says which hosts are drawn rather than others. Pure: it goes by the servers that would have to move."""

    def ranked(self, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
        """Return the same hosts, those to be drawn first come first; they are given in the order of their numbers."""
        ...


class FewestServers:
    """The fewest servers move; among as many, the fewest preemptible ones stay, which the lease will end.

    Then those with the least memory to move; then the host with the lowest number.
    """

    def ranked(self, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
        """Return them by the number of servers that have to move, of those that stay, and by the memory to move."""
        return sorted(hosts, key=lambda each: (len(each.movers), len(each.stayers), each.size.get("MEMORY_MB", 0)))


def load_draw_order(name: str) -> DrawOrder:
    """Return the order of this name; raises PluginError if no package has it, or it does not load."""
    order: DrawOrder = load_policy(NAMESPACE, "[physical:host] draw_order", name)
    return order


def in_order(order: DrawOrder, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
    """Return the hosts as the order ranks them.

    A plugin that raises, or that returns other hosts than it was given, is logged, and the fewest servers move.
    """
    everyone = sorted(hosts, key=_number)
    try:
        ranked = list(order.ranked(everyone))
        if sorted(ranked, key=_number) != everyone:
            message = "It has to return the hosts that it is given, each once."
            raise ValueError(message)  # noqa: TRY301 - logged below like what a plugin raises itself
    except Exception:
        log.exception("A bug in the draw order %s: the hosts with the fewest servers come first", type(order).__name__)
        return FewestServers().ranked(everyone)
    return ranked


def _number(host: Drawable) -> int:
    return host.number
