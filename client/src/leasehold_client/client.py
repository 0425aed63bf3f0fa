"""The client: one object for each kind of thing that the API has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold_client.alarm import Alarms
from leasehold_client.allocation import Allocations
from leasehold_client.audit import Audit
from leasehold_client.availability import AvailabilityCalls
from leasehold_client.budget import Budgets, Prices
from leasehold_client.calls.transport import Transport
from leasehold_client.charge import AllCharges
from leasehold_client.event import Events
from leasehold_client.feed import Feeds
from leasehold_client.filler import Fillers
from leasehold_client.flexible import FlexibleLeases
from leasehold_client.floating_ip import FloatingIps
from leasehold_client.forecast import Forecasts
from leasehold_client.host import Hosts
from leasehold_client.lease import Leases
from leasehold_client.maintenance import Maintenances
from leasehold_client.offer import Offers
from leasehold_client.owned_resource import OwnedResources
from leasehold_client.planned_capacity import PlannedCapacity
from leasehold_client.power import Power
from leasehold_client.property import Properties
from leasehold_client.published_offer import PublishedOffers
from leasehold_client.refusal import Refusals
from leasehold_client.region import Regions
from leasehold_client.resource import Resources
from leasehold_client.series import SeriesCalls
from leasehold_client.subscription import Subscriptions
from leasehold_client.template import Templates
from leasehold_client.usage import Usages

if TYPE_CHECKING:
    from keystoneauth1.session import Session


class Client:
    """Calls the API of a reservation service with a session of keystoneauth, whatever its way to log in is.

    Every call raises ApiError if the service refuses it, and UnreachableError if the service does not answer.
    """

    def __init__(
        self,
        session: Session,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        interface: str | None = "public",
        patient: bool = False,
    ) -> None:
        """`endpoint` is the URL of the service, with or without `/v1`; None means the one of the login or catalog.

        With `patient`, calls that only read go on for two minutes while the service is away, as for a restart.
        """
        transport = Transport(session, endpoint=endpoint, region=region, interface=interface, patient=patient)
        self._like_this = partial(Client, session, endpoint=endpoint, region=region, interface=interface)
        self.leases = Leases(transport)
        self.events = Events(transport)
        self.hosts = Hosts(transport)
        self.properties = Properties(transport)
        self.floating_ips = FloatingIps(transport)
        self.allocations = Allocations(transport)
        self.availability = AvailabilityCalls(transport)
        self.regions = Regions(transport)
        self.offers = Offers(transport)
        self.flexible_leases = FlexibleLeases(transport)
        self.series = SeriesCalls(transport)
        self.alarms = Alarms(transport)
        self.fillers = Fillers(transport)
        self.subscriptions = Subscriptions(transport)
        self.feeds = Feeds(transport)
        self.templates = Templates(transport)
        self.usage = Usages(transport)
        self.charges = AllCharges(transport)
        self.prices = Prices(transport)
        self.budgets = Budgets(transport)
        self.maintenances = Maintenances(transport)
        self.resources = Resources(transport)
        self.owned_resources = OwnedResources(transport)
        self.published_offers = PublishedOffers(transport)
        self.audit = Audit(transport)
        self.planned_capacity = PlannedCapacity(transport)
        self.power = Power(transport)
        self.refusals = Refusals(transport)
        self.forecasts = Forecasts(transport)

    def patiently(self) -> Client:
        """Return a client of the same service that is patient."""
        return self._like_this(patient=True)
