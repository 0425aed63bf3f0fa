"""The order in which leases that wait come first: a policy, which an operator chooses by name (feature A17).

`[manager] waiting_order` names an entry point of the group `leasehold.waiting_orders`, a class without arguments.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.conf.settings import Settings
    from leasehold.model.terms.waiting import WaitingLease
    from leasehold.resource_types.registry import ResourceTypes

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.waiting_orders"
UNEXPLAINED: Final = "Leases that wait come in the order that the operators have chosen."
"""Why a lease has its place, where the order does not say it."""


class WaitingOrder(Protocol):
    """Says which of the leases that wait come first. Pure: it is asked within decisions, under the pools' locks."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return the same leases, first come first; they are given in the order in which they began to wait."""
        ...


@dataclass(frozen=True, slots=True)
class OrderGrounds:
    """What an order is read with: the connection of the transaction, and the moment."""

    connection: Connection
    now: datetime
    settings: Settings
    types: ResourceTypes


@runtime_checkable
class ReadingOrder(Protocol):
    """An order by more than the leases that wait say of themselves, which it reads from the database."""

    def read(self, grounds: OrderGrounds, leases: Sequence[WaitingLease]) -> WaitingOrder:
        """Return the order of these leases. It is asked within decisions too: it takes one statement, and no lock."""
        ...


@runtime_checkable
class ExplainedOrder(Protocol):
    """An order that says why a lease has its place."""

    def why(self, lease: WaitingLease) -> str:
        """Return a sentence for the lease's project, which names nobody else and nothing that others have."""
        ...


class LongestWaiting:
    """Who has waited longest comes first."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them as they are."""
        return leases

    def why(self, lease: WaitingLease) -> str:
        """Return the rule, and since when the lease has waited."""
        return f"Who has waited longest comes first; the lease has since {lease.waiting.since:%Y-%m-%d %H:%M} UTC."


class FewestLeases:
    """The project comes first that has the fewest leases, then who has waited longest."""

    def ranked(self, leases: Sequence[WaitingLease]) -> Sequence[WaitingLease]:
        """Return them by the leases of their projects, and with as many as they are."""
        return sorted(leases, key=lambda each: each.granted)

    def why(self, lease: WaitingLease) -> str:
        """Return the rule, and how many leases the project has."""
        return f"The project with the fewest granted leases comes first; the lease's project has {lease.granted}."


def load_order(name: str) -> WaitingOrder | ReadingOrder:
    """Return the order of this name; raises PluginError if no package has it, or it does not load."""
    order: WaitingOrder | ReadingOrder = load_policy(NAMESPACE, "[manager] waiting_order", name)
    return order


def ahead_of(order: WaitingOrder, leases: Iterable[WaitingLease], lease_id: str, most: int) -> Sequence[WaitingLease]:
    """Return those of the `leases` that come before the one with this id (`in_order`); the first `most` of them."""
    return list(islice(takewhile(lambda each: each.id != lease_id, in_order(order, leases)), most))


def in_order(order: WaitingOrder, leases: Iterable[WaitingLease]) -> Sequence[WaitingLease]:
    """Return the leases, first come first.

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
    return ranked


def reason_of(order: WaitingOrder, lease: WaitingLease) -> str:
    """Return why a lease has its place, in a sentence for its project; a plugin that raises is logged."""
    if isinstance(order, ExplainedOrder):
        try:
            return order.why(lease)
        except Exception:
            log.exception("A bug in the waiting order %s: it does not say why", type(order).__name__)
    return UNEXPLAINED


def _since(lease: WaitingLease) -> tuple[object, str]:
    return lease.waiting.since, lease.id
