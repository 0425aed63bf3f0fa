"""The strategy that says which servers give way to leases: a policy, which an operator chooses by name.

`[physical:host] displacement_strategy` names an entry point of the group `leasehold.displacement_strategies`, a class
without arguments. It decides which shared hosts are drawn (features A4, F3), and which preemptible servers are ended
where slots need only some of their room (feature K1).
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from leasehold.model.placing.displacement import FewestServers, cheapest_enough, newest_first, total
from leasehold.resource_types.policies import load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.model.placing.displacement import Affected, Cost, EvictionStrategy
    from leasehold.model.placing.draw import Drawable

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.displacement_strategies"


@cache
def load_strategy(name: str) -> EvictionStrategy:
    """Return the strategy of this name; raises PluginError if no package has it, or it does not load."""
    strategy: EvictionStrategy = load_policy(NAMESPACE, "[physical:host] displacement_strategy", name)
    return strategy


def costs_of(strategy: EvictionStrategy, servers: Sequence[Affected]) -> Sequence[Cost]:
    """Return what each server costs.

    A plugin that raises, or whose answer is no list of costs, is logged, and as few servers as possible go.
    """
    try:
        found = [tuple(each) for each in strategy.costs(servers)]
        numbers = [number for cost in found for number in cost]
        one_length = len({len(cost) for cost in found} or {1}) == 1 and all(found)
        if len(found) != len(servers) or not one_length or not all(_is_cost(number) for number in numbers):
            message = "It has to return for each server a tuple of whole numbers, all of one length and none below 0."
            raise ValueError(message)  # noqa: TRY301 - logged below like what a plugin raises itself
    except Exception:
        log.exception("A bug in the displacement strategy %s: as few servers as possible go", type(strategy).__name__)
        return FewestServers().costs(servers)
    return found


def _is_cost(number: object) -> bool:
    return isinstance(number, int) and number >= 0


def ranked(strategy: EvictionStrategy, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
    """Return the hosts by what it costs to draw them, then by number.

    That is the sum over the servers that have to move and over those that stay and that a lease of the host will end.
    """
    everyone = sorted(hosts, key=_number)
    servers = [guest.affected for host in everyone for guest in (*host.movers, *host.stayers)]
    costs = costs_of(strategy, servers)
    places = len(costs[0]) if costs else 0
    each_host, first = [], 0
    for host in everyone:
        last = first + len(host.movers) + len(host.stayers)
        each_host.append((total(costs[first:last], places), host.number, host))
        first = last
    return [host for _, _, host in sorted(each_host, key=_cost_and_number)]


def _number(host: Drawable) -> int:
    return host.number


def _cost_and_number(entry: tuple[Cost, int, Drawable]) -> tuple[Cost, int]:
    return entry[:2]


def servers_to_end(
    strategy: EvictionStrategy, servers: Sequence[Affected], lacking: Mapping[str, int]
) -> Sequence[Affected]:
    """Return the servers of a host to end so that what is lacking is free, by resource class; as far as that helps.

    Those that are being deleted come first. Of servers that cost the same and are of one size the newest go.
    """
    newest = sorted(servers, key=newest_first)
    going, left = [], dict(lacking)
    for each in newest:
        if each.status == "DELETING" and max(left.values(), default=0) > 0:
            going.append(each)
            left = {name: amount - each.size.get(name, 0) for name, amount in left.items()}
    there = [each for each in newest if each.status != "DELETING"]
    # What no server here uses is not to be had by ending servers.
    most = {name: min(amount, sum(each.size.get(name, 0) for each in there)) for name, amount in left.items()}
    need = {name: amount for name, amount in most.items() if amount > 0}
    return [*going, *(cheapest_enough(there, costs_of(strategy, there), need) if need else ())]
