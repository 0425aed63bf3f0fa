"""The driver of `storage:host`: a machine sleeps while none of its services keeps a volume (feature F4, decision 0148).

A machine may have several services that keep volumes: they sleep together. The rule is that the block storage says that
all are empty. Nothing can be claimed there, as it is of a compute host; so it is asked in another round than the one in
which the services were closed, and as long as any volume has no place yet nobody knows that it does not come.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_DNS, uuid5

from leasehold.cloud.ports import CloudPermanentError, ServiceReport
from leasehold.model.errors import InUseError, InvalidInputError, NotFoundError
from leasehold.model.finding import Finding, FindingKind
from leasehold.model.resource import STORAGE
from leasehold.resource_types.capabilities import Audited, Enumerable, Reporting, Resting, StillClosingError
from leasehold.resource_types.driver import Driver
from leasehold.resource_types.enrolment import Discovery, Report
from leasehold.resource_types.fields import Identifier, RequestBody

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from leasehold.cloud.ports import Cloud, StorageService
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.resource import Resource
    from leasehold.resource_types.driver import Convergence, Wanted
    from leasehold.resource_types.look import Look
    from leasehold.resource_types.records import Records
    from leasehold.resource_types.storage.kind import StorageBody

SLEEPS = "Leasehold has switched this host off until volumes need it"
"""Why a service is disabled; only one with this reason is enabled again."""
HOST = "storage_host"
"""The attribute with the name of the machine, as its services have it."""


class StorageDescription(RequestBody):
    """The name of a machine with services that keep volumes, which is what their names begin with."""

    name: Identifier


class StorageDriver(Driver["StorageBody"], Enumerable, Resting, Reporting, Audited):
    """Closes all services of a machine, and opens them again."""

    description = StorageDescription

    def converge(self, cloud: Cloud, job: Convergence[StorageBody], wanted: Wanted) -> Mapping[str, Any]:  # noqa: ARG002 - no reservations
        """Return no facts: no lease has anything here."""
        return {}

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:  # noqa: ARG002 - the driver's contract
        """Find a machine, with or without volumes.

        Raises NotFoundError, InvalidInputError for a part of a machine, and InUseError for one that does more.
        """
        name = description["name"]
        services = cloud.storage.list(name)
        if not services:
            raise NotFoundError("storage_host", name)
        if services[0].host != name:
            message = f"Name the machine, {services[0].host}: all services on it sleep together."
            raise InvalidInputError(message, field="name")
        if what := _does_more(cloud, name, services):
            raise InUseError(f"{name} has {what}, which is gone when the machine sleeps; enrol one without that.")
        return _read(name, services)

    def candidates(self, cloud: Cloud, settings: CloudSettings, enrolled: Collection[str]) -> Sequence[Discovery]:  # noqa: ARG002 - the driver's contract
        """Return the other machines with services that keep volumes, and do nothing else."""
        found = ((_read(name, services), services) for name, services in _by_host(cloud).items())
        new = ((each, services) for each, services in found if each.id not in enrolled)
        return [each for each, services in new if not _does_more(cloud, each.reference, services)]

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:  # noqa: ARG002 - the driver's contract
        """Return how machines are, by all their services; one without any keeps its state."""
        there = _by_host(cloud)
        found = {each.number: there.get(each.attributes[HOST]) for each in resources}
        return {number: _report(services) for number, services in found.items() if services}

    def is_used(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether there are volumes, snapshots or groups."""
        return any(cloud.storage.held(attributes[HOST]).values())

    def close(self, cloud: Cloud, attributes: Mapping[str, Any]) -> str | None:
        """Disable all services, and from the next call on return what they have.

        Raises StillClosingError when it has disabled one, and while a volume may be on its way there.
        """
        host = attributes[HOST]
        services = self._services(cloud, attributes)
        open_ = [each.name for each in services if each.enabled and each.keeps_volumes]
        for each in open_:
            cloud.storage.disable(each, SLEEPS)
        if open_:
            raise StillClosingError(f"{host} has been closed just now, and volumes may still be sent there")
        # Before the volumes: what has got its place meanwhile is among them.
        waiting = cloud.storage.unplaced()
        there = cloud.storage.held(host).items()
        held = [f"{count} {what if count > 1 else what.removesuffix('s')}" for what, count in there if count]
        if (more := _does_more(cloud, host, services)) is not None:
            held.append(more)
        if waiting and not held:
            raise StillClosingError(f"{waiting} volumes or groups that have no place yet may come to {host}")
        return " and ".join(held) or None

    def reopen(self, cloud: Cloud, attributes: Mapping[str, Any]) -> None:
        """Enable the services that `close` has disabled."""
        for each in cloud.storage.list(attributes[HOST]):
            cloud.storage.enable(each.name, SLEEPS)

    def is_closed(self, cloud: Cloud, attributes: Mapping[str, Any]) -> bool:
        """Return whether a service is disabled because the machine sleeps."""
        return any(each.disabled_reason == SLEEPS for each in cloud.storage.list(attributes[HOST]))

    def report(self, cloud: Cloud, attributes: Mapping[str, Any]) -> ServiceReport:
        """Return whether any service is up, and since when all are; if none is, when one has reported last."""
        services = [each for each in cloud.storage.list(attributes[HOST]) if each.keeps_volumes]
        times = [each.at for each in services if each.at is not None]
        up = [each for each in services if each.up]
        if not up:
            return ServiceReport(up=False, at=max(times, default=None))
        return ServiceReport(up=True, at=min(times, default=None) if len(up) == len(services) else None)

    def audit(self, look: Look) -> Iterator[Finding]:
        """Yield the machines that are closed because they sleep, although they do not."""
        enrolled = {each.attributes[HOST]: each for each in look.records.enrolled(STORAGE)}
        closed = {each.host for each in look.cloud.storage.list() if each.disabled_reason == SLEEPS} if enrolled else ()
        for host in sorted(closed):
            resource = enrolled.get(host)
            if resource is None or resource.readiness is None:
                what = f"Services of storage host {host} are disabled because it sleeps, and it does not."
                remedy = "It is woken within minutes if it is enrolled with its machine; otherwise enable them."
                yield Finding(FindingKind.PLACE, host if resource is None else resource.id, what, remedy)

    def _services(self, cloud: Cloud, attributes: Mapping[str, Any]) -> Sequence[StorageService]:
        services = cloud.storage.list(attributes[HOST])
        if not any(each.keeps_volumes for each in services):
            raise CloudPermanentError(f"the block storage knows no service of {attributes[HOST]} that keeps volumes")
        return services


def _by_host(cloud: Cloud) -> Mapping[str, Sequence[StorageService]]:
    """Return all services of the machines that keep volumes."""
    found: dict[str, list[StorageService]] = defaultdict(list)
    for each in cloud.storage.list():
        found[each.host].append(each)
    return {host: services for host, services in found.items() if any(each.keeps_volumes for each in services)}


def _does_more(cloud: Cloud, host: str, services: Sequence[StorageService]) -> str | None:
    """Return what else a machine does than to keep its own volumes, as far as the cloud knows."""
    for each in services:
        if not each.keeps_volumes:
            return f"the service {each.binary}"
        if each.cluster is not None:
            return f"a part of the cluster {each.cluster}, whose volumes are on other machines as well"
    return "a compute service" if cloud.hypervisors.report(host).at is not None else None


def _report(services: Sequence[StorageService]) -> Report:
    keeping = [each for each in services if each.keeps_volumes]
    return Report(up=all(each.up for each in keeping), enabled=all(each.enabled for each in keeping))


def _read(name: str, services: Sequence[StorageService]) -> Discovery:
    return Discovery(
        id=str(uuid5(NAMESPACE_DNS, f"{name}.storage.leasehold")),
        reference=name,
        attributes={HOST: name, "availability_zone": services[0].zone},
        report=_report(services),
    )
