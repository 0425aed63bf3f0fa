"""Empty a host for certain: claim what is left of it, let its servers go, move it, and release the claim last.

A listing of a host's servers misses the boots that the scheduler has sent there and that have not landed. While all
that is left of the host is claimed, Placement refuses whoever has only passed the scheduler's filters, and names
everybody who was faster (decision 0055). A work that breaks off leaves its claim: the next one releases it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudTransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.cloud.ports import Cloud, Server

log = logging.getLogger(__name__)

_COMING = frozenset({"BUILD", "MIGRATING", "RESIZE", "REBUILD", "SHELVED_OFFLOADED"})
"""The statuses of servers that use a host before they are there. Any other server that is elsewhere has left the host,
and what it still uses there is left over, as after an evacuation."""


def prove_empty(cloud: Cloud, host: str, provider: str, doomed: Callable[[Server], bool]) -> None:
    """Claim what is left of the host; raise CloudTransientError while a server uses it or is on its way to it.

    The servers that were listed on it are gone, or being deleted. Those that are `doomed` are deleted on their way.
    The claim stays, also with an error. On an empty host this is one call.
    """
    consumers = cloud.providers.claim_rest(provider)
    if consumers:
        await_end(cloud, host, provider, consumers, doomed)


def is_unused(cloud: Cloud, host: str, provider: str) -> bool:
    """Claim what is left of the host, and return whether no server uses it or is on its way to it.

    The claim stays. On an unused host this is one call.
    """
    consumers = cloud.providers.claim_rest(provider)
    if not consumers:
        return True
    if any(_uses(each, host) for each in cloud.servers.with_ids(consumers)):
        return False
    return not _newcomers(cloud, provider, consumers)


def await_end(
    cloud: Cloud, host: str, provider: str, consumers: Collection[str], doomed: Callable[[Server], bool]
) -> None:
    """Raise CloudTransientError while the consumers, those of a claim, are servers that use the host.

    Consumers that are no servers are ignored: leftover allocations must not block a host for ever.
    """
    using = [each for each in cloud.servers.with_ids(consumers) if _uses(each, host)]
    for server in using:
        if doomed(server) and server.status != "DELETING":
            cloud.servers.delete(server.id)
    if using:
        message = f"{len(using)} servers are still being removed from one of its hosts, or are on their way to it"
        raise CloudTransientError(message)
    if newcomers := _newcomers(cloud, provider, consumers):
        message = f"{newcomers} servers are on their way to one of its hosts"
        raise CloudTransientError(message)


def _newcomers(cloud: Cloud, provider: str, consumers: Collection[str]) -> int:
    """Claim what consumers that use nothing have freed since the claim; return how many came before that."""
    left = cloud.providers.claim_rest(provider)
    newcomers = left - set(consumers)
    if left and not newcomers:
        text = "Placement has allocations on %s for %s, which use nothing there: they are ignored"
        log.warning(text, provider, ", ".join(sorted(left)))
    return len(newcomers)


def users_of(cloud: Cloud, host: str, provider: str) -> list[Server]:
    """Claim what is left of the host; return the servers on it, and those that are on their way to it.

    Preemptible ones do not count. The claim stays, so that nobody who comes later can land.
    """
    consumers = cloud.providers.claim_rest(provider)
    there = cloud.servers.on_host(host)
    coming = consumers - {each.id for each in there}
    landing = [each for each in cloud.servers.with_ids(coming) if _uses(each, host)] if coming else []
    return [each for each in (*there, *landing) if not each.preemptible]


def _uses(server: Server, host: str) -> bool:
    return server.service_host == host or server.status in _COMING
