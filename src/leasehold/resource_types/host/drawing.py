"""How a host gets into the reservation pool while it serves everybody, and how it gets out again (decision 0056).

Its servers are moved away, but for preemptible ones: they stay, as on any free host, until a lease starts there (0064).
That nothing else runs on it is proved, not hoped for: the compute service is disabled, so that the scheduler chooses
the host no more, and all that is left of its resource provider is claimed, so that a boot which has passed the
scheduler before is refused. Then nothing but what the cloud shows is there, or comes. Every call may be repeated.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.model.errors import some_of
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import Movable, Resting
from leasehold.resource_types.host.enrolment import DRAWS, SLEEPS, HostEnrolment, said_servers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, Server, ServiceReport
    from leasehold.conf.settings import CloudSettings


def stays_on_draw(server: Server, settings: CloudSettings) -> bool:
    """Return whether a server stays when its host is drawn into the reservation pool: a lease of the host ends it.

    Where no preemptible servers are expected, they are moved like others (`[physical:host] expect_preemptibles`).
    """
    return server.preemptible and settings.expect_preemptibles


GOING = frozenset({"MIGRATING", "DELETING"})
"""The statuses of servers that leave the host by themselves."""


def _spelled(servers: Collection[Server], others: Collection[str]) -> str:
    """Return what is on a host, as a part of a sentence; others are consumers of its provider in Placement."""
    said = [said_servers(len(servers))] if servers else []
    said += [f"allocations of other consumers: {some_of(sorted(others))}"] if others else []
    return " and ".join(said)


def _shut(cloud: Cloud, attributes: Mapping[str, Any], reason: str) -> tuple[Sequence[Server], frozenset[str]]:
    """Disable the compute service, claim all that is left, and return the servers and the other consumers."""
    host = attributes["service_name"]
    cloud.hypervisors.disable(host, reason)
    foreign = cloud.providers.claim_rest(attributes["hypervisor_hostname"])
    # After the claims: a boot that came before them is in one of the two.
    return cloud.servers.on_host(host), foreign


class HostDrawing(HostEnrolment, Movable, Resting):
    """How hosts get into the reservation pool, and out of it; and how they are closed while their machines are off."""

    def draw(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> str | None:
        """Close the host, move its servers away, and once only preemptible ones are on it put it into the free pool.

        There it is opened. Returns what is still on it.
        """
        there, foreign = _shut(cloud, attributes, DRAWS)
        leaving = [each for each in there if not stays_on_draw(each, settings)]
        do_all([partial(cloud.servers.migrate, each.id) for each in leaving if each.status not in GOING], patient=False)
        if len(leaving) < len(there):
            # One of those that stay may have been deleted since the claims: who took its room shows now.
            foreign |= cloud.providers.claim_rest(attributes["hypervisor_hostname"])
        others = foreign - {each.id for each in there}
        if leaving or others:
            return _spelled(leaving, others)
        self.give_provider(cloud, attributes)
        # This drops the claims too; the disabled service keeps the scheduler away until the host is in the free pool.
        self.into_free_pool(cloud, settings, attributes)
        cloud.hypervisors.enable(attributes["service_name"], DRAWS)
        return None

    def share(self, cloud: Cloud, settings: CloudSettings, attributes: Mapping[str, Any]) -> None:
        """Take the host out of the free pool, then open it; it keeps its provider while it is enrolled."""
        self.give_provider(cloud, attributes)
        cloud.aggregates.remove_host(settings.freepool, attributes["service_name"])
        self.reopen(cloud, attributes)

    def reopen(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Enable the compute service, if it is disabled for a reason of ours, and drop our claims."""
        cloud.hypervisors.enable(attributes["service_name"], DRAWS, SLEEPS)
        cloud.providers.release_claims(attributes["hypervisor_hostname"])

    def is_used(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether there are servers on the host, also preemptible ones."""
        return bool(cloud.servers.on_host(attributes["service_name"]))

    def close(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Disable the compute service, claim all that is left of the host, and return what is on it all the same."""
        there, foreign = _shut(cloud, attributes, SLEEPS)
        others = foreign - {each.id for each in there}
        return _spelled(there, others) if there or others else None

    def is_closed(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether the compute service is disabled because the host sleeps."""
        return self.report(cloud, attributes).disabled_reason == SLEEPS

    def report(self, cloud: Cloud, attributes: Mapping[str, Any]) -> ServiceReport:
        """Return how the compute service is."""
        return cloud.hypervisors.report(attributes["service_name"])
