"""Assembles the OpenStack ports: `openstack_cloud(conf)` returns a complete `Cloud`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.cloud.openstack.aggregates import OpenStackAggregates
from leasehold.cloud.openstack.connections import Connections
from leasehold.cloud.openstack.flavors import OpenStackFlavors
from leasehold.cloud.openstack.hypervisors import OpenStackHypervisors
from leasehold.cloud.openstack.images import OpenStackImages
from leasehold.cloud.openstack.limits import SECONDS, open_limits
from leasehold.cloud.openstack.networks import OpenStackNetworks
from leasehold.cloud.openstack.placement import OpenStackProviders
from leasehold.cloud.openstack.quotas import OpenStackQuotas
from leasehold.cloud.openstack.rating import open_rating
from leasehold.cloud.openstack.rest import ServiceClient
from leasehold.cloud.openstack.server_groups import OpenStackServerGroups
from leasehold.cloud.openstack.servers import OpenStackServers
from leasehold.cloud.openstack.storage import OpenStackStorage
from leasehold.cloud.ports import Cloud

if TYPE_CHECKING:
    from oslo_config import cfg


@dataclass(frozen=True, slots=True)
class OpenStackCloud(Cloud):
    """The ports as OpenStack's services implement them."""

    images: OpenStackImages


def openstack_cloud(conf: cfg.ConfigOpts) -> OpenStackCloud:
    """Return the cloud that `conf` names, without a call yet. Raises `ConfigurationError` without an account."""
    connections = Connections(conf)
    nova = ServiceClient(connections, "nova")
    neutron = ServiceClient(connections, "neutron")
    flavors = OpenStackFlavors(nova)
    return OpenStackCloud(
        hypervisors=OpenStackHypervisors(nova),
        aggregates=OpenStackAggregates(nova),
        flavors=flavors,
        servers=OpenStackServers(nova, flavors),
        images=OpenStackImages(nova, ServiceClient(connections, "glance")),
        providers=OpenStackProviders(ServiceClient(connections, "placement")),
        server_groups=OpenStackServerGroups(nova),
        networks=OpenStackNetworks(neutron),
        storage=OpenStackStorage(ServiceClient(connections, "cinder")),
        limits=open_limits(conf),
        rating=open_rating(conf),
        quotas=OpenStackQuotas(replace(nova, timeout=SECONDS), replace(neutron, timeout=SECONDS)),
    )
