"""The order in which leases that wait come first: a policy, which an operator chooses by name (feature A17).

`[manager] waiting_order` names an entry point of the group `leasehold.waiting_orders`, a class without arguments.
"""

from __future__ import annotations

import logging
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Protocol

from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leasehold.model.terms.waiting import WaitingLease

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.waiting_orders"


class WaitingOrder(Protocol):
    """Says which of the leases that wait come first. Pure: it is asked within decisions, under the pools' locks."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return the same leases, first come first; they are given in the order in which they began to wait."""
        ...


class LongestWaiting:
    """Who has waited longest comes first."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them as they are."""
        return leases


class FewestLeases:
    """The project comes first that has the fewest leases, then who has waited longest."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them by the leases of their projects, and with as many as they are."""
        return sorted(leases, key=lambda each: each.granted)


def load_order(name: str) -> WaitingOrder:
    """Return the order of this name; raises PluginError if no package has it, or it does not load."""
    order: WaitingOrder = load_policy(NAMESPACE, "[manager] waiting_order", name)
    return order


def ahead_of(order: WaitingOrder, leases: Iterable[WaitingLease], lease_id: str, most: int) -> Sequence[WaitingLease]:
    """Return those of the `leases` that come before the one with this id; the first `most` of them.

    A plugin that raises, or that returns other leases than it was given, is logged, and they come as they have waited.
    """
    everyone = sorted(leases, key=_since)
    try:
        ranked = list(order.ranked(everyone))
        if sorted(ranked, key=_since) != everyone:
            message = "It has to return the leases that it is given, each once."
            raise ValueError(message)  # noqa: TRY301 - logged below like what a plugin raises itself
    except Exception:
        log.exception("A bug in the waiting order %s: who has waited longest comes first", type(order).__name__)
        ranked = everyone
    return list(islice(takewhile(lambda each: each.id != lease_id, ranked), most))


def _since(lease: WaitingLease) -> tuple[object, str]:
    return lease.waiting.since, lease.id
