"""Make room for slots that begin: end preemptible servers on their hosts, as far as their room is needed.

Slots share their hosts with others, so nothing is claimed at Placement for them: a claim would refuse the boots of
other leases too (decision 0055). Once a host is in a slot reservation, the scheduler's filter sends no more
preemptible servers there.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError, CloudTransientError
from leasehold.model.placing.displacement import Affected, ServerFate
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.slots.names import child_provider, reservation_of, resource_class
from leasehold.resource_types.strategy import servers_to_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Flavor, Server
    from leasehold.model.placing.displacement import EvictionStrategy

log = logging.getLogger(__name__)

_MB_IN_GB = 1024
_OURS = resource_class("")


def listed(cloud: Cloud, hosts: Mapping[str, str]) -> Sequence[Server]:
    """Return the servers on the hosts; none if they cannot be listed, because slots do not wait for a listing."""
    try:
        return cloud.servers.on_hosts(hosts.keys())
    except CloudError as error:
        log.warning("Slots begin without a look for preemptible servers on %s: %s", ", ".join(sorted(hosts)), error)
        return ()


def make_room(cloud: Cloud, hosts: Mapping[str, str], servers: Iterable[Server], strategy: EvictionStrategy) -> None:
    """End preemptible servers where slots have less room than they were promised; raises CloudTransientError meanwhile.

    `hosts` are hypervisor hostnames by service host, and `servers` those that run there. Without preemptible ones
    among them there is no call. `strategy` says which of them go.
    """
    ending = defaultdict(list)
    for server in servers:
        if server.preemptible and server.service_host is not None:
            ending[server.service_host].append(server)
    do_all(partial(_end, cloud, hosts[host], found, strategy) for host, found in sorted(ending.items()))


def _end(cloud: Cloud, hostname: str, servers: Sequence[Server], strategy: EvictionStrategy) -> None:
    """End servers of a host until there is room; those that are being deleted come first."""
    lacking = lacking_on(cloud, hostname)
    if not any(amount > 0 for amount in lacking.values()):
        return
    doomed = servers_to_end(strategy, affected(cloud, servers), lacking)
    for server in doomed:
        if server.status != "DELETING":
            cloud.servers.delete(server.id)
    left = cloud.servers.with_ids([server.id for server in doomed]) if doomed else ()
    if left:
        message = f"{len(left)} preemptible servers are still being removed, to make room"
        raise CloudTransientError(message)


def affected(cloud: Cloud, servers: Iterable[Server]) -> list[Affected]:
    """Return preemptible servers, which may be ended, with what they use of their host."""
    known: dict[str, Mapping[str, int]] = {}
    found = []
    for server in servers:
        if server.flavor_id not in known:
            known[server.flavor_id] = amounts_of(cloud.flavors.get(server.flavor_id))
        found.append(Affected(server.id, ServerFate.ENDS, known[server.flavor_id], server.status, server.created_at))
    return found


def lacking_on(cloud: Cloud, hostname: str) -> Counter[str]:
    """Return by resource class how much more the slots of a host may use than is free there."""
    child = child_provider(hostname)
    booted = cloud.providers.usages(child)
    lacking: Counter[str] = Counter()
    for name, inventory in cloud.providers.inventories(child).items():
        amounts = amounts_of(cloud.flavors.get(reservation_of(name))) if name.startswith(_OURS) else {}
        # A host that failed may have more servers than it has slots.
        open_slots = max(0, inventory.capacity - booted.get(name, 0))
        lacking.update({each: amount * open_slots for each, amount in amounts.items()})
    used = cloud.providers.usages(hostname)
    for name, inventory in cloud.providers.inventories(hostname).items():
        lacking[name] -= inventory.capacity - used.get(name, 0)
    return lacking


def amounts_of(flavor: Flavor | None) -> dict[str, int]:
    """Return what a server of the flavor uses of its host's own provider; nothing if the flavor is gone."""
    if flavor is None:
        return {}
    specs = flavor.extra_specs
    named = {key.partition(":")[2]: value for key, value in specs.items() if key.startswith("resources:")}
    return {
        "PCPU" if specs.get("hw:cpu_policy") == "dedicated" else "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": flavor.disk_gb + flavor.ephemeral_gb - (-flavor.swap_mb // _MB_IN_GB),
        **{name: int(value) for name, value in named.items() if value.isdecimal() and not name.startswith(_OURS)},
    }
