"""What happens to devices: how they are found and how they are, and what a lease's start and end do with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field

from leasehold.cloud.ports import CloudTransientError
from leasehold.model.errors import NotFoundError
from leasehold.model.finding import Finding, FindingKind
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import Audited, Enumerable, Marking, Reporting, Retaining
from leasehold.resource_types.driver import Driver, LearnedError, Wanted
from leasehold.resource_types.enrolment import Discovery, Report
from leasehold.resource_types.fields import RequestBody
from leasehold.resource_types.look import CloudObject
from leasehold_devices.kind import DeviceKind, DeviceRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud
    from leasehold.conf.settings import CloudSettings
    from leasehold.model.resource import Resource
    from leasehold.resource_types.driver import Convergence, Holding
    from leasehold.resource_types.look import Look
    from leasehold.resource_types.records import Records
    from leasehold_devices.hook import Hook
    from leasehold_devices.inventory import Device, Inventory

IDS = UUID("5f1e5f3a-6c53-4d0e-9d0b-1a3f0c7b8e11")
"""The namespace of the ids of devices: the same name always gets the same id."""
_BACK = "Put it back into the inventory, or remove it with DELETE /v1/resources/site:device/{id}."


class DeviceDescription(RequestBody):
    """The name of a device in the inventory."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


class DeviceDriver(Driver[DeviceRequest], Enumerable, Reporting, Audited, Marking, Retaining):
    """Runs the start hook for each device that a reservation gets, and the end hook for each that it gives back."""

    description = DeviceDescription

    def __init__(self, inventory: Inventory, start: Hook, end: Hook) -> None:
        """Read and run nothing yet."""
        self._inventory, self._start, self._end = inventory, start, end

    # ------------------------------------------------------------ enrolment and health

    def discover(self, cloud: Cloud, settings: CloudSettings, description: Mapping[str, Any]) -> Discovery:  # noqa: ARG002 - devices are in no cloud
        """Find a device in the inventory."""
        device = self._inventory.devices().get(description["name"])
        if device is None:
            raise NotFoundError("name", description["name"])
        return _discovered(device)

    def candidates(self, cloud: Cloud, settings: CloudSettings, enrolled: Collection[str]) -> Sequence[Discovery]:  # noqa: ARG002 - as above
        """Return the devices of the inventory that are not enrolled."""
        there = map(_discovered, self._inventory.devices().values())
        return [each for each in there if each.id not in enrolled]

    def reports(self, cloud: Cloud, resources: Sequence[Resource], records: Records) -> Mapping[int, Report]:  # noqa: ARG002 - as above
        """Return how the devices are; one that is not in the inventory is down."""
        there = self._inventory.devices()
        return {each.number: _report_of(there.get(each.reference)) for each in resources}

    def audit(self, look: Look) -> Iterable[Finding]:
        """Yield the enrolled devices that are not in the inventory."""
        there = self._inventory.devices()
        for each in look.records.enrolled(DeviceKind.name):
            if each.reference not in there:
                what = f"Device {each.label} is enrolled, but not in the inventory."
                yield Finding(FindingKind.PLACE, each.id, what, _BACK.format(id=each.id))

    # ------------------------------------------------------------ leases

    def converge(self, cloud: Cloud, job: Convergence[DeviceRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Prepare the devices that are held and not ready, and clean those that are given up."""
        if wanted is Wanted.PREPARED:
            return {}
        held = _names(job.holdings) if wanted is Wanted.ACTIVE else set()
        over = _names(job.former) if wanted is Wanted.ACTIVE else _names(job.all_holdings)
        do_all([partial(self._clean, cloud, job, name) for name in sorted(over - held)])
        return {"ready": self._prepared(cloud, job, held)} if wanted is Wanted.ACTIVE else {}

    def _prepared(self, cloud: Cloud, job: Convergence[DeviceRequest], held: Collection[str]) -> list[str]:
        """Prepare what is not ready; raises LearnedError, which stores what is ready now, when a hook fails."""
        ready = set(job.reservation.cloud.get("ready", ())) & set(held)
        failures: list[CloudTransientError] = []
        for name in sorted(set(held) - ready):
            run = partial(self._start.run, name, job.name, job.project_id)
            try:
                cloud.actions.perform(f"device {name} is not prepared", run)
                ready.add(name)
            except CloudTransientError as error:
                failures.append(error)
        if failures:
            raise LearnedError(str(failures[0]), {"ready": sorted(ready)}) from failures[0]
        return sorted(ready)

    def _clean(self, cloud: Cloud, job: Convergence[DeviceRequest], name: str) -> None:
        run = partial(self._end.run, name, job.name, job.project_id)
        cloud.actions.perform(f"device {name} is not cleaned", run)

    def occupied(self, cloud: Cloud, job: Convergence[DeviceRequest]) -> frozenset[int]:
        """Clean the failed devices that healing has replaced; those that cannot be cleaned yet stay out of use."""
        dirty = set()
        for each in job.left:
            try:
                self._clean(cloud, job, each.resource.reference)
            except CloudTransientError:
                dirty.add(each.allocation_id)
        return frozenset(dirty)

    # ------------------------------------------------------------ leftovers

    def objects(self, look: Look) -> Iterable[CloudObject]:  # noqa: ARG002 - as above
        """Yield the devices that the inventory says are prepared for a reservation."""
        for device in self._inventory.devices().values():
            if device.reservation is not None:
                yield CloudObject("device", device.name, device.reservation)

    def remove(self, look: Look, thing: CloudObject) -> None:
        """Clean a device that is still prepared for a reservation which is over."""
        run = partial(self._end.run, thing.key, thing.reservation_id, "")
        look.cloud.actions.perform(f"device {thing.key} is not cleaned", run)


def _discovered(device: Device) -> Discovery:
    attributes = {**device.attributes, "name": device.name}
    return Discovery(str(uuid5(IDS, device.name)), device.name, attributes, report=_report_of(device))


def _report_of(device: Device | None) -> Report:
    return Report(up=False) if device is None else Report(up=device.up, enabled=device.enabled)


def _names(holdings: Iterable[Holding]) -> set[str]:
    return {holding.resource.reference for holding in holdings}
