"""The table of all commands: the name, and the class. `BLAZARS` have the names of Blazar's client, `OURS` do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli import allocation, floating_ip, host, host_property, lease_change, lease_list
from leasehold_client.cli.availability import ShowAvailability
from leasehold_client.cli.calendar import ShowCalendar
from leasehold_client.cli.events import ListEvents
from leasehold_client.cli.lease_create import CreateLease

if TYPE_CHECKING:
    from cliff.command import Command

BLAZARS: dict[str, type[Command]] = {
    "lease list": lease_list.ListLeases,
    "lease show": lease_list.ShowLease,
    "lease create": CreateLease,
    "lease set": lease_change.SetLease,
    "lease delete": lease_change.DeleteLease,
    "host list": host.ListHosts,
    "host show": host.ShowHost,
    "host create": host.CreateHost,
    "host set": host.SetHost,
    "host unset": host.UnsetHost,
    "host delete": host.DeleteHost,
    "host property list": host_property.ListProperties,
    "host property show": host_property.ShowProperty,
    "host property set": host_property.SetProperty,
    "floatingip list": floating_ip.ListFloatingIps,
    "floatingip show": floating_ip.ShowFloatingIp,
    "floatingip create": floating_ip.CreateFloatingIp,
    "floatingip delete": floating_ip.DeleteFloatingIp,
    "allocation list": allocation.ListAllocations,
    "allocation show": allocation.ShowAllocations,
}
OURS: dict[str, type[Command]] = {
    "lease extend": lease_change.ExtendLease,
    "lease swap": lease_change.SwapHost,
    "lease events": ListEvents,
    "calendar": ShowCalendar,
    "availability": ShowAvailability,
}
COMMANDS = {**BLAZARS, **OURS}
