"""The table of all commands: the name, and the class. `BLAZARS` have the names of Blazar's client, `OURS` do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.capacity import region
from leasehold_client.cli.capacity.availability import ListAskable, SearchWindows, ShowAvailability
from leasehold_client.cli.capacity.calendar import ShowCalendar
from leasehold_client.cli.leases import lease_change, lease_list, offer, published_offer, series, sub_lease, template
from leasehold_client.cli.leases.events import ListEvents
from leasehold_client.cli.leases.lease_create import CreateLease
from leasehold_client.cli.leases.lease_history import ShowHistory
from leasehold_client.cli.leases.lease_resources import ListHoldings
from leasehold_client.cli.notices import alarm, feed, subscription
from leasehold_client.cli.operators import audit, forecast, maintenance, power, refusal
from leasehold_client.cli.resources import allocation, floating_ip, host, host_property, owned_resource, resource

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
    "lease heal": lease_change.HealLease,
    "lease drop": lease_change.DropReservation,
    "lease sublease list": sub_lease.ListSubLeases,
    "lease sublease offer": sub_lease.OfferSubLease,
    "lease sublease create": sub_lease.CreateSubLease,
    "lease sublease delete": sub_lease.DeleteSubLease,
    "lease resources": ListHoldings,
    "lease events": ListEvents,
    "lease history": ShowHistory,
    "offer list": offer.ListOffers,
    "offer show": offer.ShowOffer,
    "offer create": offer.CreateOffer,
    "offer accept": offer.AcceptOffer,
    "offer delete": offer.DeleteOffer,
    "series list": series.ListSeries,
    "series show": series.ShowSeries,
    "series create": series.CreateSeries,
    "series set": series.SetSeries,
    "series delete": series.DeleteSeries,
    "alarm list": alarm.ListAlarms,
    "alarm show": alarm.ShowAlarm,
    "alarm create": alarm.CreateAlarm,
    "alarm delete": alarm.DeleteAlarm,
    "subscription list": subscription.ListSubscriptions,
    "subscription show": subscription.ShowSubscription,
    "subscription create": subscription.CreateSubscription,
    "subscription replay": subscription.ReplaySubscription,
    "subscription delete": subscription.DeleteSubscription,
    "subscription dead letter list": subscription.ListDeadLetters,
    "feed list": feed.ListFeeds,
    "feed show": feed.ShowFeed,
    "feed create": feed.CreateFeed,
    "feed delete": feed.DeleteFeed,
    "template list": template.ListTemplates,
    "template show": template.ShowTemplate,
    "template create": template.CreateTemplate,
    "template set": template.SetTemplate,
    "template delete": template.DeleteTemplate,
    "maintenance list": maintenance.ListMaintenances,
    "maintenance show": maintenance.ShowMaintenance,
    "maintenance create": maintenance.CreateMaintenance,
    "maintenance delete": maintenance.DeleteMaintenance,
    "resource type list": resource.ListTypes,
    "resource candidate list": resource.ListCandidates,
    "resource list": resource.ListResources,
    "resource show": resource.ShowResource,
    "resource create": resource.CreateResource,
    "resource set": resource.SetResource,
    "resource unset": resource.UnsetResource,
    "resource delete": resource.DeleteResource,
    "resource property list": host_property.ListTypesProperties,
    "resource property set": host_property.SetTypesProperty,
    "owned resource list": owned_resource.ListOwned,
    "owned lease delete": owned_resource.DeleteOwnedLease,
    "published offer list": published_offer.ListPublished,
    "published offer show": published_offer.ShowPublished,
    "published offer create": published_offer.CreatePublished,
    "published offer delete": published_offer.DeletePublished,
    "published offer claim": published_offer.ClaimPublished,
    "calendar": ShowCalendar,
    "availability": ShowAvailability,
    "window search": SearchWindows,
    "property list": ListAskable,
    "audit show": audit.ShowAudit,
    "audit start": audit.StartAudit,
    "refusal list": refusal.ListRefusals,
    "power list": power.ListMachines,
    "power show": power.ShowMachine,
    "power set": power.SetMachine,
    "power unset": power.UnsetMachine,
    "power wake": power.WakeMachine,
    "power margin list": power.ListMargins,
    "power report": power.ShowReport,
    "forecast": forecast.ShowForecast,
    "forecast plot": forecast.PlotForecast,
    "region list": region.ListRegions,
    "region availability": region.ShowInRegions,
    "region search": region.SearchRegions,
}
COMMANDS = {**BLAZARS, **OURS}
