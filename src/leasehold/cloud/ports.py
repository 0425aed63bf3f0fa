"""The ports: what Leasehold needs from a cloud, in its own terms.

Two implementations pass one contract suite (`tests/contract/`): `cloud.sandbox` and `cloud.openstack`. Every verb is
idempotent, because converge may run any number of times, also after a crash half-way (design §1, §5): `ensure_*` of an
object that exists, and `remove_*` or `delete_*` of one that is gone, succeed and change nothing. Nova aggregates hold
*service host* names, Placement providers are named by *hypervisor hostname* (contract resources §0.3); every signature
keeps the two apart.

Every verb may raise `CloudTransientError` (try later) or `CloudPermanentError` (a quick retry does not help).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal


LARGEST = 2**31 - 1
"""The largest amount of one resource class that Placement keeps of a provider."""


class CloudError(Exception):
    """A call to the cloud failed; the message names the service and the call."""


class CloudTransientError(CloudError):
    """Unreachable, timed out, 5xx or a conflict: the same call may work later."""


class CloudConflictError(CloudTransientError):
    """A conflict with what is there, such as something that still uses what is to be removed."""


class CloudPermanentError(CloudError):
    """Refused, as with 400 or 403. The cause may still go away, so retries go on with a longer backoff (design §5)."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """How much of one resource class a provider has, as Placement states it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = LARGEST
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """The most that Placement allocates in total: `(total - reserved) * allocation_ratio`, rounded down.

        Placement takes any ratio. One beyond all bounds would make a number that no database and no calendar holds.
        """
        exact = (self.total - self.reserved) * self.allocation_ratio
        return 0 if math.isnan(exact) else int(max(-LARGEST, min(exact, LARGEST)))


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """A compute host as Nova shows it. `service_host` is the aggregate member name; `zone` is "" when unknown.

    `disabled_reason` is the text that the compute service was disabled with; None if it is enabled, or without a text.
    """

    id: str
    hypervisor_hostname: str
    service_host: str
    vcpus: int
    memory_mb: int
    local_gb: int
    cpu_info: str = ""
    hypervisor_type: str = "QEMU"
    hypervisor_version: int = 0
    zone: str = ""
    up: bool = True
    enabled: bool = True
    disabled_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A named set of service hosts."""

    id: int
    name: str
    zone: str | None
    metadata: Mapping[str, str]
    hosts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A size of server. `projects` are those that may use a private one."""

    id: str
    name: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0
    public: bool = False
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    projects: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """A server group; `members` are the ids of its servers."""

    id: str
    name: str
    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Server:
    """A virtual machine. `service_host` is None when it was never scheduled.

    `status` is the cloud's own word, such as ACTIVE, ERROR or SHUTOFF; MIGRATING while it moves to another host,
    SHELVING while it is being shelved, SUSPENDING while it is being suspended, and DELETING after the request to delete
    it. A server that is SHELVED is still on its host; one that is SHELVED_OFFLOADED has left it, and its `service_host`
    is None a moment later.

    `created_at` is the time of the create request; the boot may reach the host much later.
    """

    id: str
    name: str
    project_id: str
    flavor_id: str
    service_host: str | None
    status: str
    preemptible: bool = False
    created_at: datetime | None = None


SAVING, COMPLETE, FAILED = "SAVING", "ACTIVE", "ERROR"
"""The statuses of an image: uploading, usable, failed."""


@dataclass(frozen=True, slots=True)
class Image:
    """A snapshot of a server; `status` is SAVING, ACTIVE or ERROR. `metadata` is that of the snapshot request.

    `project_id` owns it now: at first the project of the service. `meant_for` is the project of the server, which is to
    get it; empty if that is not known, as of images that an older version made.
    """

    id: str
    name: str
    server_id: str
    status: str
    metadata: Mapping[str, str]
    project_id: str = ""
    meant_for: str = ""

    @property
    def is_handed_over(self) -> bool:
        """Whether the image belongs to the project that is to get it; so does one of which that is not known."""
        return not self.meant_for or self.project_id == self.meant_for


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of a network: CIDR, gateway, and the pools from which the cloud itself allocates addresses."""

    id: str
    cidr: str
    gateway: str | None
    allocation_pools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """A network that floating IPs can be taken from."""

    id: str
    name: str
    subnets: tuple[Subnet, ...]


@dataclass(frozen=True, slots=True)
class FloatingIp:
    """A floating IP that a project has now."""

    id: str
    network_id: str
    address: str
    project_id: str
    tags: frozenset[str] = frozenset()
    port_id: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkPort:
    """A port that has an address of a network; `owner` is what it belongs to, e.g. `network:router_gateway`, or ""."""

    id: str
    network_id: str
    address: str
    owner: str = ""


RESERVATION_TAG = "reservation:"
"""The prefix of the tag that names the reservation of a floating IP."""


class BlockedError(CloudTransientError):
    """Something of somebody else is in the way of a reservation; the audit of the resource type reports it."""


class HeldError(BlockedError):
    """Another project has the address; the message does not name that project, because the lease's owner reads it."""

    def __init__(self, holder: FloatingIp) -> None:
        """Keep the floating IP in `holder`, for callers that may see or remove it."""
        super().__init__(f"address {holder.address} is still in use by somebody else")
        self.holder = holder


class TakenError(BlockedError):
    """A port that is no floating IP's has the address; the message names neither the port nor its project."""

    def __init__(self, holder: NetworkPort) -> None:
        """Keep the port in `holder`, for callers that may see it."""
        what = "something that is no floating IP, such as the gateway of a router or a port of a server"
        super().__init__(f"address {holder.address} is in use in its network by {what}")
        self.holder = holder


class StrangersError(BlockedError):
    """Leftover servers block a host of a reservation; the message names neither the servers nor their projects."""

    def __init__(self, message: str, service_host: str, servers: Sequence[Server]) -> None:
        """Keep the host and the servers, for callers that may see or remove them."""
        super().__init__(message)
        self.service_host = service_host
        self.servers = servers


@dataclass(frozen=True, slots=True)
class ServiceReport:
    """Whether a compute service is up, and when it has last reported that by the cloud's clock; None: never.

    `disabled_reason` is why it is disabled, None for one that is enabled, or disabled without a reason.
    """

    up: bool
    at: datetime | None
    disabled_reason: str | None = None


class Hypervisors(Protocol):
    """Compute hosts and their health."""

    def list(self) -> Sequence[Hypervisor]:
        """Return all hypervisors."""

    def find(self, reference: str) -> Hypervisor | None:
        """Return the hypervisor whose id or exact hostname is `reference`, or None."""

    def disable(self, service_host: str, reason: str) -> None:
        """Let no server land on the host any more, with this reason; servers that run there stay.

        A host that is disabled already stays as it is, with the reason that it has. Raises CloudPermanentError when
        there is no such compute service.
        """

    def enable(self, service_host: str, *reasons: str) -> None:
        """Enable a host that is disabled with exactly one of these reasons; does nothing to any other host."""

    def report(self, service_host: str) -> ServiceReport:
        """Return how the compute service is; one that does not exist is not up, and has never reported.

        A service stays up for a while after its machine is off: only a later report than the last one says otherwise.
        """


def merged(present: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the metadata of an aggregate after these changes; None removes a key."""
    return {key: value for key, value in {**present, **changes}.items() if value is not None}


class Aggregates(Protocol):
    """Host aggregates, addressed by name; ours are named after their reservation."""

    def get(self, name: str) -> Aggregate | None:
        """Return the aggregate, or None."""

    def list(self) -> Sequence[Aggregate]:
        """Return all aggregates."""

    def ensure(self, name: str, zone: str | None, metadata: Mapping[str, str | None]) -> Aggregate:
        """Make sure the aggregate exists with this zone and at least this metadata, and return it.

        A key whose value is None is removed.
        """

    def add_host(self, name: str, service_host: str) -> None:
        """Add the host to the aggregate; raises CloudPermanentError when the aggregate does not exist."""

    def remove_host(self, name: str, service_host: str) -> None:
        """Remove the host from the aggregate."""

    def delete(self, name: str) -> None:
        """Delete the aggregate; raises CloudPermanentError while it has members."""


class Flavors(Protocol):
    """Flavors and their access lists."""

    def get(self, flavor_id: str) -> Flavor | None:
        """Return the flavor with extra specs and access list, or None."""

    def list(self) -> Sequence[Flavor]:
        """Return all flavors, public and private."""

    def ensure(self, flavor: Flavor) -> None:
        """Make sure the flavor exists as given, except its access list; replaces a different flavor with its id."""

    def grant(self, flavor_id: str, project_id: str) -> None:
        """Let a project use the private flavor."""

    def revoke(self, flavor_id: str, project_id: str) -> None:
        """Withdraw a project's access; does nothing when the flavor is gone."""

    def delete(self, flavor_id: str) -> None:
        """Delete the flavor."""


class Servers(Protocol):
    """Virtual machines of all projects."""

    def on_host(self, service_host: str) -> Sequence[Server]:
        """Return the servers that run on a host, of every project; empty only if there are certainly none."""

    def on_hosts(self, service_hosts: Collection[str]) -> Sequence[Server]:
        """Return the servers that run on any of these hosts, of every project, in one listing where that is cheaper.

        Some may be missing while a part of the cloud does not answer: nothing is given away because this is empty.
        """

    def with_flavor(self, flavor_id: str) -> Sequence[Server]:
        """Return the servers that were booted with a flavor, of every project."""

    def with_ids(self, server_ids: Collection[str]) -> Sequence[Server]:
        """Return those of these servers that exist, of every project, also those that have not reached a host yet.

        Asks for each, so it is for few. Any text may be asked for; what is no server's id is not found.
        """

    def delete(self, server_id: str) -> None:
        """Request the deletion of a server, which may take a while."""

    def migrate(self, server_id: str) -> None:
        """Request a live migration to another host, which the cloud chooses; does nothing when the server is gone.

        The server is MIGRATING on its host until it has arrived, or has come back after a failure. Raises
        CloudTransientError while it moves or its state does not allow it, and CloudPermanentError when the cloud
        refuses, for instance because it fits on no other host.
        """

    def shelve(self, server_id: str) -> None:
        """Request that a server is stopped and kept as an image, if it has no volume; nothing when it is gone.

        It is SHELVING until it is SHELVED, or SHELVED_OFFLOADED where the cloud goes on by itself. Raises
        CloudTransientError while its state does not allow it, CloudPermanentError when the cloud refuses.
        """

    def offload(self, server_id: str) -> None:
        """Request that a SHELVED server leaves its host, as SHELVED_OFFLOADED; nothing when it is gone.

        Its owner can unshelve it, on another host. Raises CloudTransientError while it is not SHELVED.
        """

    def suspend(self, server_id: str) -> None:
        """Request that a server is stopped and its memory kept, on its host; nothing when it is gone.

        It is SUSPENDING until it is SUSPENDED, and its owner can resume it. Raises CloudTransientError while its state
        does not allow it, CloudPermanentError when the cloud refuses.
        """


class ServerGroups(Protocol):
    """Server groups: affinities for the cloud's own scheduler. A group belongs to its creator's project."""

    def list(self) -> Sequence[ServerGroup]:
        """Return the groups of all projects."""

    def create(self, name: str, *, together: bool, token: str) -> str:
        """Create a group as the user of the token and return its id; `together`: affinity, otherwise anti-affinity."""

    def delete(self, group_id: str) -> None:
        """Delete a group."""


RESERVATION_OF_IMAGE = "leasehold_reservation"
"""The metadata key that names the reservation of an image."""


class Images(Protocol):
    """Snapshots of servers."""

    def snapshot(self, server_id: str, name: str, project_id: str, metadata: Mapping[str, str]) -> None:
        """Start an image of the server under this name, unless one with this metadata exists and has not failed.

        It is meant for this project, and belongs to the service until it is handed over. Raises CloudTransientError
        while the server's state does not allow it, CloudPermanentError without a server.
        """

    def of_reservation(self, reservation_id: str) -> Sequence[Image]:
        """Return the images whose metadata names the reservation (`RESERVATION_OF_IMAGE`), failed ones too."""

    def of_shelved(self, server_id: str) -> Sequence[Image]:
        """Return the images as which `shelve` has kept a server and which still belong to the service."""

    def hand_over(self, image_id: str, project_id: str) -> None:
        """Make a complete image the project's own. Raises CloudPermanentError when there is no such image."""


class Providers(Protocol):
    """Placement: providers, inventories, resource classes and traits. Providers are addressed by name."""

    def names(self) -> frozenset[str]:
        """Return the names of all providers."""

    def classes(self) -> frozenset[str]:
        """Return all resource classes, the cloud's own and custom ones."""

    def inventories(self, provider: str) -> Mapping[str, Inventory]:
        """Return the provider's inventories by resource class; raises CloudPermanentError when it does not exist."""

    def traits(self, provider: str) -> frozenset[str]:
        """Return the provider's traits."""

    def usages(self, provider: str) -> Mapping[str, int]:
        """Return how much of each resource class consumers have of the provider; empty if it does not exist."""

    def ensure_child(self, parent: str, name: str) -> None:
        """Make sure `name` exists as a child of `parent`."""

    def delete(self, name: str) -> None:
        """Delete a provider with its inventories."""

    def ensure_class(self, resource_class: str) -> None:
        """Make sure a custom resource class exists."""

    def delete_class(self, resource_class: str) -> None:
        """Delete a custom resource class; raises CloudConflictError while a provider has an inventory of it."""

    def set_inventory(self, provider: str, resource_class: str, inventory: Inventory) -> None:
        """Set the provider's inventory of the class; its other inventories stay."""

    def remove_inventory(self, provider: str, resource_class: str) -> None:
        """Remove the provider's inventory of the class."""

    def claim_rest(self, provider: str) -> frozenset[str]:
        """Claim all that is left of every inventory of the provider for us; return the ids of the other consumers.

        These are servers that run there, boots on their way to it, and migrations. Nothing more lands on the provider
        until `release_claims`. If the result is empty, nothing but our claims is on it; otherwise what a consumer frees
        later is open until the next call. A provider that does not exist has no consumers, and nothing can land on it.
        """

    def release_claims(self, provider: str) -> None:
        """Remove all our claims from the provider; does nothing when there are none, or no such provider."""

    def claimed(self, providers: Collection[str]) -> frozenset[str]:
        """Return those of the providers that have claims of ours."""


class Networks(Protocol):
    """Networks and floating IPs."""

    def get(self, network_id: str) -> Network | None:
        """Return the network with its subnets, or None."""

    def floating_ip(self, network_id: str, address: str) -> FloatingIp | None:
        """Return the floating IP that has this address now, or None."""

    def list_floating_ips(self, tag: str) -> Sequence[FloatingIp]:
        """Return the floating IPs that carry a tag."""

    def list_network(self, network_id: str) -> Sequence[FloatingIp]:
        """Return the floating IPs of a network, of every project; empty when the network does not exist."""

    def ports_at(self, network_id: str, addresses: Collection[str]) -> Sequence[NetworkPort]:
        """Return who has these addresses of a network, other than floating IPs: one item for each such address.

        These are ports of every project: gateways of routers, servers, DHCP. Empty when the network does not exist.
        """

    def create_floating_ip(
        self, network_id: str, subnet_id: str, address: str, project_id: str, tags: frozenset[str]
    ) -> FloatingIp:
        """Create the floating IP with this address in a project, with these tags.

        A floating IP that the project already has counts as the lease's, even if its tags were changed: it gets these
        tags and loses those of other reservations. Raises HeldError when another project has the address, and
        TakenError when a port has it that is no floating IP's.
        """

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        """Disassociate and delete a floating IP."""


@dataclass(frozen=True, slots=True)
class StorageService:
    """A service of the block storage, which keeps volumes or does something else; `name` is `HOST@BACKEND` or a host.

    `at` is when it has last reported, or an operator changed it, by the cloud's clock; `disabled_reason` as of a
    `ServiceReport`. Services in a `cluster` keep the same volumes.
    """

    name: str
    binary: str
    keeps_volumes: bool
    zone: str
    up: bool
    at: datetime | None
    enabled: bool = True
    disabled_reason: str | None = None
    cluster: str | None = None

    @property
    def host(self) -> str:
        """The machine that it runs on; all services with this host run there."""
        return self.name.partition("@")[0]


class Storage(Protocol):
    """The services of the block storage, and what is on them."""

    def list(self, host: str | None = None) -> Sequence[StorageService]:
        """Return the services on a host, of whatever kind; None: on all hosts."""

    def disable(self, service: str, reason: str) -> None:
        """Let no new volume be sent to a service that keeps volumes, with this reason; those that it has stay.

        One that is disabled already stays as it is. Raises CloudPermanentError when there is no such service.
        """

    def enable(self, service: str, *reasons: str) -> None:
        """Enable a service that is disabled with exactly one of these reasons; does nothing to any other service.

        Raises CloudPermanentError if it is disabled after that all the same.
        """

    def held(self, host: str) -> Mapping[str, int]:
        """Return how many `volumes`, `snapshots` and `groups` there are on all services of a host, in any state."""

    def unplaced(self) -> int:
        """Return how many volumes and groups may come to any service: they have none yet, or are moved to another.

        One that has none, and has not changed for an hour, does not count: what takes it up looks at services anew.
        """


class Limits(Protocol):
    """The limits that operators register for projects, whichever service counts what they limit."""

    def of(self, project_id: str) -> Mapping[str, int | None]:
        """Return the limits of a project by name: its own, else that of all; None for no limit.

        A name that nobody has registered is missing.
        """


@dataclass(frozen=True, slots=True)
class Quota:
    """What the cloud lets the servers and the floating IPs of a project use at a time; None for no limit."""

    instances: int | None
    vcpus: int | None
    memory_mb: int | None
    floating_ips: int | None


class Quotas(Protocol):
    """The quotas of projects, as the services check them that count what projects use now."""

    def of(self, project_id: str) -> Quota:
        """Return the quota of a project; raises CloudPermanentError where there is no such project."""


@dataclass(frozen=True, slots=True)
class RatedRow:
    """What a project pays for something between two moments; the price is for all of it, in the unit of all prices.

    No other row of the `batch` has its `key`. The `notes` tell it apart for people.
    """

    batch: str
    key: str
    project_id: str
    what: str
    unit: str
    quantity: Decimal
    price: Decimal
    start: datetime
    end: datetime
    notes: Mapping[str, str]


class Rating(Protocol):
    """The service that adds up what projects pay for, in the cloud and here."""

    def keys(self, rows: Sequence[RatedRow]) -> frozenset[str]:
        """Return the keys of those of these rows, all of one batch, that it has already."""

    def push(self, rows: Sequence[RatedRow]) -> None:
        """Add rows. Whether it has them is unknown after a CloudTransientError: `keys` says it."""


class Actions(Protocol):
    """What a driver changes outside the other ports; a dry run notes it instead of executing it."""

    def perform(self, what: str, action: Callable[[], None]) -> None:
        """Run `action`; `what` is the difference that it removes, e.g. `device b-1 is not prepared`."""


class Performed:
    """Implements `Actions`: runs every action."""

    def perform(self, what: str, action: Callable[[], None]) -> None:  # noqa: ARG002 - only a dry run needs the words
        """Run `action`."""
        action()


@dataclass(frozen=True, slots=True)
class Cloud:
    """All ports of one cloud. `server_groups`, `limits`, `quotas` and `rating` are None where the cloud has none."""

    hypervisors: Hypervisors
    aggregates: Aggregates
    flavors: Flavors
    servers: Servers
    images: Images
    providers: Providers
    networks: Networks
    server_groups: ServerGroups | None
    storage: Storage = field(kw_only=True)
    actions: Actions = field(default_factory=Performed, kw_only=True)
    limits: Limits | None = field(default=None, kw_only=True)
    quotas: Quotas | None = field(default=None, kw_only=True)
    rating: Rating | None = field(default=None, kw_only=True)
