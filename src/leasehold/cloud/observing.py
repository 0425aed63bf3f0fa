"""Dry run: a cloud that reads from the real cloud, and notes every write instead of executing it.

The plugins' own *converge* runs against it, so the desired state is described only once: an empty note means that the
cloud matches the database. Later reads of the same work see the noted writes.

Server groups are never noted, because no verb tells whether one exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from leasehold.cloud.ports import (
    FAILED,
    RESERVATION_OF_IMAGE,
    Aggregate,
    Cloud,
    CloudPermanentError,
    FloatingIp,
    merged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from leasehold.cloud.ports import (
        Aggregates,
        Flavor,
        Flavors,
        Hypervisor,
        Hypervisors,
        Image,
        Images,
        Inventory,
        Network,
        NetworkPort,
        Networks,
        Providers,
        Server,
        ServerGroup,
        Servers,
        ServiceReport,
        Storage,
        StorageService,
    )

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class WithheldWrite:
    """One write that was not executed: the verb, and the difference from the desired state, as a part of a sentence.

    `hurts` is true for the deletion of a server that is not preemptible.
    """

    verb: str
    what: str
    hurts: bool = False


Note = list[WithheldWrite]


class Observation:
    """One observation of a cloud. Complete listings are read once and shared by all observed work."""

    def __init__(self, cloud: Cloud) -> None:
        """Read nothing yet: each listing is read on first use."""
        self.cloud = cloud

    def changes(self, work: Callable[[Cloud], object]) -> tuple[WithheldWrite, ...]:
        """Return the writes that `work` would make; raises the CloudError that ends it, also one from a read."""
        note: Note = []
        real = self.cloud
        work(
            Cloud(
                hypervisors=_Hypervisors(real.hypervisors, note),
                aggregates=_Aggregates(_Seen(self.aggregates), note),
                flavors=_Flavors(real.flavors, note),
                servers=_Servers(real.servers, note),
                images=_Images(real.images, note),
                providers=_Providers(real.providers, _named(self.providers), _named(self.classes), note),
                networks=_Networks(real.networks, note),
                server_groups=None,
                storage=_Storage(real.storage, note),
                actions=_Actions(None, note),
            )
        )
        return tuple(note)

    @cached_property
    def aggregates(self) -> Mapping[str, Aggregate]:
        """The aggregates by name, as of the first access."""
        return {aggregate.name: aggregate for aggregate in self.cloud.aggregates.list()}

    @cached_property
    def groups(self) -> Mapping[str, ServerGroup]:
        """The server groups by id, as of the first access; empty where the cloud has none."""
        groups = self.cloud.server_groups
        return {} if groups is None else {group.id: group for group in groups.list()}

    @cached_property
    def providers(self) -> frozenset[str]:
        """The names of all providers, as of the first access."""
        return self.cloud.providers.names()

    @cached_property
    def classes(self) -> frozenset[str]:
        """The names of all resource classes, as of the first access."""
        return self.cloud.providers.classes()


class _Seen(Generic[Value]):
    """Values by name as read from the cloud, overlaid with noted writes; a noted None is a deletion."""

    def __init__(self, read: Mapping[str, Value]) -> None:
        self._read = read
        self._noted: dict[str, Value | None] = {}

    def get(self, name: str) -> Value | None:
        return self._noted[name] if name in self._noted else self._read.get(name)

    def put(self, name: str, value: Value | None) -> None:
        self._noted[name] = value

    def all(self) -> list[Value]:
        both = {**self._read, **self._noted}
        return [value for value in both.values() if value is not None]


def _named(names: Collection[str]) -> _Seen[str]:
    """Return what exists by name, where there is nothing to it but the name."""
    return _Seen({name: name for name in names})


class _Port(Generic[Value]):
    """A port that reads from the real one, and notes writes under its own name and that of the verb."""

    def __init__(self, real: Value, note: Note) -> None:
        self._real, self._note = real, note

    def _withhold(self, verb: str, what: str, *, hurts: bool = False) -> None:
        port = type(self).__name__.removeprefix("_").lower()
        self._note.append(WithheldWrite(f"{port}.{verb}", what, hurts))


class _Actions(_Port[None]):
    """Implements `ports.Actions`."""

    def perform(self, what: str, action: Callable[[], None]) -> None:  # noqa: ARG002 - noted, not executed
        self._withhold("perform", what)


class _Hypervisors(_Port["Hypervisors"]):
    """Implements `ports.Hypervisors`."""

    def list(self) -> Sequence[Hypervisor]:
        return self._real.list()

    def find(self, reference: str) -> Hypervisor | None:
        return self._real.find(reference)

    def report(self, service_host: str) -> ServiceReport:
        return self._real.report(service_host)

    def disable(self, service_host: str, reason: str) -> None:
        if any(each.enabled for each in self._behind(service_host)):
            self._withhold("disable", f"host {service_host} is not disabled: {reason}")

    def enable(self, service_host: str, *reasons: str) -> None:
        found = [each for each in self._behind(service_host) if not each.enabled and each.disabled_reason in reasons]
        if found:
            self._withhold("enable", f"host {service_host} is still disabled: {found[0].disabled_reason}")

    def _behind(self, service_host: str) -> Sequence[Hypervisor]:
        return [each for each in self._real.list() if each.service_host == service_host]


class _Storage(_Port["Storage"]):
    """Implements `ports.Storage`."""

    def list(self, host: str | None = None) -> Sequence[StorageService]:
        return self._real.list(host)

    def disable(self, service: str, reason: str) -> None:
        if any(each.enabled for each in self._named(service)):
            self._withhold("disable", f"storage service {service} is not disabled: {reason}")

    def enable(self, service: str, *reasons: str) -> None:
        if any(not each.enabled and each.disabled_reason in reasons for each in self._named(service)):
            self._withhold("enable", f"storage service {service} is still disabled")

    def held(self, host: str) -> Mapping[str, int]:
        return self._real.held(host)

    def unplaced(self) -> int:
        return self._real.unplaced()

    def _named(self, service: str) -> Sequence[StorageService]:
        return [each for each in self._real.list(service) if each.name == service]


def _differences(there: Aggregate, zone: str | None, metadata: Mapping[str, str | None]) -> Iterator[str]:
    """Yield in what an aggregate is not as it is wanted."""
    if there.zone != zone:
        yield f"is in zone {there.zone} and not in {zone}"
    other = {key: value for key, value in sorted(metadata.items()) if there.metadata.get(key) != value}
    lacking = [f"{key}={value}" for key, value in other.items() if value is not None]
    if lacking:
        yield f"lacks the metadata {', '.join(lacking)}"
    extra = [key for key, value in other.items() if value is None]
    if extra:
        yield f"still has the metadata {', '.join(extra)}"


class _Aggregates(_Port[_Seen[Aggregate]]):
    """Implements `ports.Aggregates`."""

    def get(self, name: str) -> Aggregate | None:
        return self._real.get(name)

    def list(self) -> Sequence[Aggregate]:
        return self._real.all()

    def ensure(self, name: str, zone: str | None, metadata: Mapping[str, str | None]) -> Aggregate:
        there = self._real.get(name)
        if there is None:
            differences = ["does not exist"]
            wanted = Aggregate(0, name, zone, merged({}, metadata), frozenset())
        else:
            differences = [*_differences(there, zone, metadata)]
            wanted = replace(there, zone=zone, metadata=merged(there.metadata, metadata))
        for each in differences:
            self._withhold("ensure", f"aggregate {name} {each}")
        self._real.put(name, wanted)
        return wanted

    def add_host(self, name: str, service_host: str) -> None:
        there = self._real.get(name)
        if there is None:
            raise CloudPermanentError(f"there is no aggregate {name}")
        if service_host not in there.hosts:
            self._withhold("add_host", f"host {service_host} is not in aggregate {name}")
            self._real.put(name, replace(there, hosts=there.hosts | {service_host}))

    def remove_host(self, name: str, service_host: str) -> None:
        there = self._real.get(name)
        if there is not None and service_host in there.hosts:
            self._withhold("remove_host", f"host {service_host} is in aggregate {name}")
            self._real.put(name, replace(there, hosts=there.hosts - {service_host}))

    def delete(self, name: str) -> None:
        if self._real.get(name) is not None:
            self._withhold("delete", f"aggregate {name} exists")
            self._real.put(name, None)


class _Flavors(_Port["Flavors"]):
    """Implements `ports.Flavors`; converge uses single flavors only, so each flavor is read on first use."""

    def __init__(self, real: Flavors, note: Note) -> None:
        super().__init__(real, note)
        self._noted: dict[str, Flavor | None] = {}

    def get(self, flavor_id: str) -> Flavor | None:
        if flavor_id not in self._noted:
            self._noted[flavor_id] = self._real.get(flavor_id)
        return self._noted[flavor_id]

    def list(self) -> Sequence[Flavor]:
        both = {**{flavor.id: flavor for flavor in self._real.list()}, **self._noted}
        return [flavor for flavor in both.values() if flavor is not None]

    def ensure(self, flavor: Flavor) -> None:
        there = self.get(flavor.id)
        # Replacing a flavor empties its access list.
        projects = frozenset[str]()
        if there is None:
            self._withhold("ensure", f"flavor {flavor.id} does not exist")
        elif replace(there, projects=flavor.projects) != flavor:
            self._withhold("ensure", f"flavor {flavor.id} is not as the reservation needs it")
        else:
            projects = there.projects
        self._noted[flavor.id] = replace(flavor, projects=projects)

    def grant(self, flavor_id: str, project_id: str) -> None:
        there = self.get(flavor_id)
        if there is None:
            raise CloudPermanentError(f"there is no flavor {flavor_id}")
        if project_id not in there.projects:
            self._withhold("grant", f"project {project_id} may not use flavor {flavor_id}")
            self._noted[flavor_id] = replace(there, projects=there.projects | {project_id})

    def revoke(self, flavor_id: str, project_id: str) -> None:
        there = self.get(flavor_id)
        if there is not None and project_id in there.projects:
            self._withhold("revoke", f"project {project_id} may use flavor {flavor_id}")
            self._noted[flavor_id] = replace(there, projects=there.projects - {project_id})

    def delete(self, flavor_id: str) -> None:
        if self.get(flavor_id) is not None:
            self._withhold("delete", f"flavor {flavor_id} exists")
            self._noted[flavor_id] = None


class _Servers(_Port["Servers"]):
    """Implements `ports.Servers`."""

    def __init__(self, real: Servers, note: Note) -> None:
        super().__init__(real, note)
        self._shown: dict[str, Server] = {}
        self._gone: set[str] = set()

    def on_host(self, service_host: str) -> Sequence[Server]:
        return self._show(self._real.on_host(service_host))

    def on_hosts(self, service_hosts: Collection[str]) -> Sequence[Server]:
        return self._show(self._real.on_hosts(service_hosts))

    def with_flavor(self, flavor_id: str) -> Sequence[Server]:
        return self._show(self._real.with_flavor(flavor_id))

    def with_ids(self, server_ids: Collection[str]) -> Sequence[Server]:
        return self._show(self._real.with_ids(server_ids))

    def delete(self, server_id: str) -> None:
        server = self._shown[server_id]
        self._gone.add(server_id)
        self._withhold("delete", f"server {server_id} runs on {server.service_host}", hurts=not server.preemptible)

    def migrate(self, server_id: str) -> None:
        self._leaves("migrate", server_id)

    def shelve(self, server_id: str) -> None:
        self._leaves("shelve", server_id)

    def offload(self, server_id: str) -> None:
        self._leaves("offload", server_id)

    def suspend(self, server_id: str) -> None:
        server = self._shown[server_id]
        self._withhold("suspend", f"server {server_id} is {server.status}")

    def _leaves(self, verb: str, server_id: str) -> None:
        server = self._shown[server_id]
        self._gone.add(server_id)
        self._withhold(verb, f"server {server_id} runs on {server.service_host}")

    def _show(self, servers: Sequence[Server]) -> Sequence[Server]:
        self._shown.update({server.id: server for server in servers})
        return [server for server in servers if server.id not in self._gone]


class _Images(_Port["Images"]):
    """Implements `ports.Images`."""

    def snapshot(self, server_id: str, name: str, project_id: str, metadata: Mapping[str, str]) -> None:  # noqa: ARG002 - the port's signature
        there = self._real.of_reservation(metadata[RESERVATION_OF_IMAGE])
        if any(each.server_id == server_id and each.metadata == metadata and each.status != FAILED for each in there):
            return
        self._withhold("snapshot", f"there is no image {name} of server {server_id}")

    def of_reservation(self, reservation_id: str) -> Sequence[Image]:
        return self._real.of_reservation(reservation_id)

    def of_shelved(self, server_id: str) -> Sequence[Image]:
        return self._real.of_shelved(server_id)

    def hand_over(self, image_id: str, project_id: str) -> None:
        self._withhold("hand_over", f"image {image_id} does not belong to project {project_id}")


class _Providers(_Port["Providers"]):
    """Implements `ports.Providers`."""

    def __init__(self, real: Providers, names: _Seen[str], classes: _Seen[str], note: Note) -> None:
        super().__init__(real, note)
        self._names, self._classes = names, classes
        self._inventories: dict[str, Mapping[str, Inventory]] = {}
        self._released: set[str] = set()

    def names(self) -> frozenset[str]:
        return frozenset(self._names.all())

    def classes(self) -> frozenset[str]:
        return frozenset(self._classes.all())

    def inventories(self, provider: str) -> Mapping[str, Inventory]:
        if self._names.get(provider) is None:
            raise CloudPermanentError(f"there is no provider {provider}")
        if provider not in self._inventories:
            self._inventories[provider] = self._real.inventories(provider)
        return self._inventories[provider]

    def traits(self, provider: str) -> frozenset[str]:
        return self._real.traits(provider)

    def usages(self, provider: str) -> Mapping[str, int]:
        return self._real.usages(provider)

    def ensure_child(self, parent: str, name: str) -> None:
        if self._names.get(parent) is None:
            raise CloudPermanentError(f"there is no provider {parent}")
        if self._names.get(name) is None:
            self._withhold("ensure_child", f"provider {name} does not exist")
            self._names.put(name, name)
            self._inventories[name] = {}

    def delete(self, name: str) -> None:
        if self._names.get(name) is not None:
            self._withhold("delete", f"provider {name} exists")
            self._names.put(name, None)

    def ensure_class(self, resource_class: str) -> None:
        if self._classes.get(resource_class) is None:
            self._withhold("ensure_class", f"resource class {resource_class} does not exist")
            self._classes.put(resource_class, resource_class)

    def delete_class(self, resource_class: str) -> None:
        if self._classes.get(resource_class) is not None:
            self._withhold("delete_class", f"resource class {resource_class} exists")
            self._classes.put(resource_class, None)

    def set_inventory(self, provider: str, resource_class: str, inventory: Inventory) -> None:
        there = self.inventories(provider)
        had = there.get(resource_class)
        if had != inventory:
            has = "no inventory" if had is None else f"another inventory ({had.total} instead of {inventory.total})"
            self._withhold("set_inventory", f"provider {provider} has {has} of {resource_class}")
            self._inventories[provider] = {**there, resource_class: inventory}

    def remove_inventory(self, provider: str, resource_class: str) -> None:
        there = self.inventories(provider) if self._names.get(provider) is not None else {}
        if resource_class in there:
            what = f"provider {provider} has an inventory of {resource_class}"
            self._withhold("remove_inventory", what)
            self._inventories[provider] = {name: each for name, each in there.items() if name != resource_class}

    def claim_rest(self, provider: str) -> frozenset[str]:  # noqa: ARG002 - not claimed
        """Note nothing, because a claim does not outlive the work that makes it; return nobody, as after that work."""
        return frozenset()

    def release_claims(self, provider: str) -> None:
        if provider not in self._released and self._real.claimed((provider,)):
            self._released.add(provider)
            self._withhold("release_claims", f"provider {provider} is still claimed by us")

    def claimed(self, providers: Collection[str]) -> frozenset[str]:
        return self._real.claimed(providers) - self._released


class _Networks(_Port["Networks"]):
    """Implements `ports.Networks`."""

    def __init__(self, real: Networks, note: Note) -> None:
        super().__init__(real, note)
        self._made: dict[str, FloatingIp] = {}
        self._gone: set[str] = set()

    def get(self, network_id: str) -> Network | None:
        return self._real.get(network_id)

    def floating_ip(self, network_id: str, address: str) -> FloatingIp | None:
        found = self._real.floating_ip(network_id, address)
        return self._made.get(address) if found is None or found.id in self._gone else found

    def list_floating_ips(self, tag: str) -> Sequence[FloatingIp]:
        made = [each for each in self._made.values() if tag in each.tags]
        return [*(each for each in self._real.list_floating_ips(tag) if each.id not in self._gone), *made]

    def list_network(self, network_id: str) -> Sequence[FloatingIp]:
        made = [each for each in self._made.values() if each.network_id == network_id]
        return [*(each for each in self._real.list_network(network_id) if each.id not in self._gone), *made]

    def ports_at(self, network_id: str, addresses: Collection[str]) -> Sequence[NetworkPort]:
        return self._real.ports_at(network_id, addresses)

    def create_floating_ip(
        self,
        network_id: str,
        subnet_id: str,  # noqa: ARG002 - part of the port
        address: str,
        project_id: str,
        tags: frozenset[str],
    ) -> FloatingIp:
        there = self.floating_ip(network_id, address)
        lacks = (
            "lacks the lease's tags" if there and there.project_id == project_id else "is not in the lease's project"
        )
        self._withhold("create_floating_ip", f"floating IP {address} {lacks}")
        self._made[address] = FloatingIp(f"noted {address}", network_id, address, project_id, tags)
        return self._made[address]

    def delete_floating_ip(self, floating_ip_id: str) -> None:
        self._withhold("delete_floating_ip", f"floating IP {floating_ip_id} exists")
        self._gone.add(floating_ip_id)
        self._made = {address: each for address, each in self._made.items() if each.id != floating_ip_id}


if TYPE_CHECKING:
    # Lets mypy check each class against its port, which nothing else does.
    _ports: tuple[
        type[Hypervisors],
        type[Aggregates],
        type[Flavors],
        type[Servers],
        type[Images],
        type[Providers],
        type[Networks],
        type[Storage],
    ]
    _ports = (_Hypervisors, _Aggregates, _Flavors, _Servers, _Images, _Providers, _Networks, _Storage)
