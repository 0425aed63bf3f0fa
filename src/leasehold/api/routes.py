"""The table of all routes of the API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from leasehold.api import versions
from leasehold.api.handlers import (
    alarm,
    allocation,
    audit,
    availability,
    event_log,
    feed,
    floatingip,
    forecast,
    held_offer,
    holding,
    host,
    lease,
    lease_history,
    maintenance,
    owned_resource,
    published_offer,
    refusal,
    region,
    resource,
    series,
    sub_lease,
    subscription,
    template,
    timeline,
    version,
)
from leasehold.api.handlers import property as properties
from leasehold.api.handlers.lease_history import AS_OF
from leasehold.api.lease_filter import DELETED, FILTERS
from leasehold.api.models.alarm import AlarmCreation, AlarmList, OneAlarm
from leasehold.api.models.allocation import AllocationList, OneAllocation
from leasehold.api.models.audit import OneAudit
from leasehold.api.models.availability import AskableList, OneAvailability, WindowList, WindowSearch
from leasehold.api.models.event_log import LogEventList
from leasehold.api.models.feed import FeedCreation, FeedList, OneFeed
from leasehold.api.models.floatingip import FloatingIpCreation, FloatingIpList, OneFloatingIp
from leasehold.api.models.forecast import OneForecast
from leasehold.api.models.held_offer import OfferCreation, OfferList, OneOffer
from leasehold.api.models.holding import HolderList
from leasehold.api.models.host import HostChange, HostCreation, HostList, OneHost
from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseList, OneLease, SwapRequest
from leasehold.api.models.lease_history import LeaseHistoryAnswer
from leasehold.api.models.maintenance import MaintenanceCreation, MaintenanceList, OneMaintenance
from leasehold.api.models.owned_resource import OwnedResourceList
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.models.published_offer import (
    ClaimCreation,
    OnePublishedOffer,
    PublishedOfferCreation,
    PublishedOfferList,
    SubOfferCreation,
)
from leasehold.api.models.refusal import RefusalList
from leasehold.api.models.region import RegionAvailabilityList, RegionList, RegionSearch, RegionWindowsList
from leasehold.api.models.resource import (
    CandidateList,
    OneResource,
    ResourceChange,
    ResourceCreation,
    ResourceList,
    ResourceTypeList,
)
from leasehold.api.models.series import OneSeries, SeriesAmendment, SeriesCreation, SeriesList
from leasehold.api.models.sub_lease import OneSubLease, SubLeaseCreation, SubLeaseList
from leasehold.api.models.subscription import (
    DeadLetterList,
    OneSubscription,
    Replay,
    SubscriptionCreation,
    SubscriptionList,
)
from leasehold.api.models.template import OneTemplate, TemplateAmendment, TemplateCreation, TemplateList
from leasehold.api.models.timeline import OneTimeline
from leasehold.api.models.version import HealthAnswer, VersionList
from leasehold.api.policies import alarm as alarm_rules
from leasehold.api.policies import audit as audit_rules
from leasehold.api.policies import availability as availability_rules
from leasehold.api.policies import event_log as event_log_rules
from leasehold.api.policies import feed as feed_rules
from leasehold.api.policies import floatingip as floatingip_rules
from leasehold.api.policies import forecast as forecast_rules
from leasehold.api.policies import held_offer as held_offer_rules
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies import maintenance as maintenance_rules
from leasehold.api.policies import owned_resource as owned_resource_rules
from leasehold.api.policies import published_offer as published_offer_rules
from leasehold.api.policies import refusal as refusal_rules
from leasehold.api.policies import region as region_rules
from leasehold.api.policies import resource as resource_rules
from leasehold.api.policies import series as series_rules
from leasehold.api.policies import subscription as subscription_rules
from leasehold.api.policies import template as template_rules
from leasehold.api.policies import timeline as timeline_rules
from leasehold.model.refused import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.call import Call, Reply
    from leasehold.api.models.base import RequestModel
    from leasehold.api.versions import Version

OK, CREATED, ACCEPTED, GONE = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT
CHOICES = HTTPStatus.MULTIPLE_CHOICES


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    The target of `rules` is the caller's own project. Where the path has a `lease_id`, a `series_id`, a
    `subscription_id`, an `alarm_id`, an `offer_id`, a `feed_id` or a `template_id`, the target is its owner, and the
    handler gets it; everybody reads a public template. A route of the `past` takes deleted leases as well, and one that
    reads `as_of` does if that is sent. `public` routes ask for no identity and ignore microversions. `instant` routes
    are answered from memory, so they need no permit. `query` and `headers` name the query keys and headers that the
    handler reads, and `filters` the query keys that it reads from 1.3 on; with `open_query` it reads those of a
    resource type as well, and refuses others itself. `counts` says as what its refusals are counted. `answer` None
    means an empty answer, and `media_type` is that of the answer.
    """

    method: str
    path: str
    handler: Callable[..., Reply]
    rules: tuple[str, ...] = ()
    request: type[RequestModel] | None = None
    answer: Any = None
    success: HTTPStatus = OK
    media_type: str = "application/json"
    since: Version = versions.V1_0
    query: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    public: bool = False
    instant: bool = False
    open_query: bool = False
    past: bool = False
    counts: Operation | None = None

    def query_at(self, version: Version) -> tuple[str, ...]:
        """Return the query keys that the handler reads at this microversion."""
        return (*self.query, *(self.filters if version >= versions.FILTERS else ()))

    def shows_past(self, call: Call) -> bool:
        """Say whether the route takes a deleted lease in this request."""
        return self.past or (AS_OF in self.query_at(call.version) and call.query(AS_OF) is not None)

    @property
    def description(self) -> str:
        """What the handler says it does, for the OpenAPI document."""
        return getdoc(self.handler) or ""

    @property
    def summary(self) -> str:
        """The first clause of that."""
        return re.split(r"[.:;\n]", self.description, maxsplit=1)[0]


_L, _H, _F, _R = lease_rules, host_rules, floatingip_rules, resource_rules
_S, _M, _A, _C = subscription_rules, maintenance_rules, alarm_rules, series_rules
_Q, _O, _D, _T = availability_rules, held_offer_rules, feed_rules, template_rules
_G, _N, _B, _P = region_rules, audit_rules, refusal_rules, forecast_rules
_W, _U = owned_resource_rules, published_offer_rules
_NARROW, _ALL = ("lease_id", "reservation_id"), ("detail", "all")

_LEASE, _HOST, _ADDRESS = "/v1/leases/{lease_id}", "/v1/os-hosts/{host_id}", "/v1/floatingips/{floatingip_id}"
_LENT = f"{_LEASE}/sub-leases"
_ONE_OF = f"{_LEASE}/reservations/{{reservation_id}}/resources/{{resource_id}}"
_PROPERTIES, _ALLOCATIONS, _HELD_BY = "/v1/os-hosts/properties", "/v1/os-hosts/allocations", f"{_HOST}/allocation"
_TYPE, _RESOURCE = "/v1/resources/{resource_type}", "/v1/resources/{resource_type}/{resource_id}"
_HELD, _KEYS = f"{_TYPE}/allocations", f"{_TYPE}/properties"
_V1_2, _V1_3 = (partial(Route, since=each) for each in (versions.V1_2, versions.V1_3))
_SUBSCRIPTION, _EVERY = "/v1/subscriptions/{subscription_id}", ("all_projects",)
_DEAD = f"{_SUBSCRIPTION}/dead-letters"
_ALARMS, _ALARM = "/v1/alarms", "/v1/alarms/{alarm_id}"
_MANY, _SERIES = "/v1/series", "/v1/series/{series_id}"
_FREE, _EVERYWHERE = "/v1/availability", "/v1/regions/availability"
_OFFERS, _OFFER = "/v1/offers", "/v1/offers/{offer_id}"
_FEEDS, _FEED = "/v1/feeds", "/v1/feeds/{feed_id}"
_TEMPLATES, _TEMPLATE = "/v1/lease-templates", "/v1/lease-templates/{template_id}"
_PUBLISHED, _ONE_PUBLISHED = "/v1/published-offers", "/v1/published-offers/{published_id}"
_WINDOWS, _WINDOW = "/v1/maintenances", "/v1/maintenances/{maintenance_id}"
_READING = ("after", "limit", "wait", "lease_id", "all_projects")
_KEY, _MATCH = ("Idempotency-Key",), ("If-Match",)
_BOTH, _AMENDS = (*_KEY, *_MATCH), (_L.GET, _L.PUT)
_LENDS, _OFFERS_OF = (*_AMENDS, _L.LEND), (*_AMENDS, _L.OFFER)

# Columns: method, path, handler, rules, request, answer, success, and what is rare.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/versions", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/healthcheck", version.check_health, answer=HealthAnswer, public=True, instant=True),
    Route("GET", "/v1/openapi.json", version.show_document, answer=dict[str, Any], public=True),
    Route(
        *("GET", "/v1/leases", lease.list_leases, (_L.GET,), None, LeaseList),
        query=("limit", "marker"),
        filters=(*FILTERS, DELETED),
    ),
    Route(
        *("POST", "/v1/leases", lease.create, (_L.POST,), LeaseCreation, OneLease, CREATED),
        headers=_KEY,
        counts=Operation.CREATE,
    ),
    Route("GET", _LEASE, lease.show, (_L.GET,), None, OneLease, filters=(AS_OF,)),
    Route("PUT", _LEASE, lease.amend, _AMENDS, LeaseAmendment, OneLease, headers=_BOTH, counts=Operation.AMEND),
    Route("DELETE", _LEASE, lease.delete, (_L.GET, _L.DELETE), success=GONE, headers=_MATCH),
    Route(
        *("GET", "/v1/os-hosts", host.list_hosts, (_H.GET,), None, HostList),
        filters=host.LISTED.query,
    ),
    Route("POST", "/v1/os-hosts", host.create, (_H.POST,), HostCreation, OneHost, CREATED),
    Route(
        *("GET", _ALLOCATIONS, allocation.list_allocations, (_H.GET_ALLOCATIONS,), None, AllocationList),
        query=_NARROW,
        filters=allocation.LISTED.query,
    ),
    Route("GET", _PROPERTIES, properties.list_properties, (_H.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    Route("PATCH", f"{_PROPERTIES}/{{name}}", properties.change, (_H.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    Route("GET", _HOST, host.show, (_H.GET,), None, OneHost),
    Route("PUT", _HOST, host.change, (_H.GET, _H.PUT), HostChange, OneHost),
    Route("DELETE", _HOST, host.delete, (_H.GET, _H.DELETE), success=GONE),
    Route("GET", _HELD_BY, allocation.show_of_host, (_H.GET, _H.GET_ALLOCATIONS), None, OneAllocation, query=_NARROW),
    Route(
        *("GET", "/v1/floatingips", floatingip.list_floating_ips, (_F.GET,), None, FloatingIpList),
        filters=floatingip.LISTED.query,
    ),
    Route("POST", "/v1/floatingips", floatingip.create, (_F.POST,), FloatingIpCreation, OneFloatingIp, CREATED),
    Route("GET", _ADDRESS, floatingip.show, (_F.GET,), None, OneFloatingIp),
    Route("DELETE", _ADDRESS, floatingip.delete, (_F.GET, _F.DELETE), success=GONE),
    _V1_2("GET", f"{_LEASE}/resources", holding.list_holdings, (_L.GET, _L.GET_RESOURCES), None, HolderList),
    _V1_3(
        *("GET", f"{_LEASE}/history", lease_history.show, (_L.GET, _L.GET_HISTORY), None, LeaseHistoryAnswer),
        query=lease_history.LISTED.query,
        past=True,
    ),
    _V1_2("POST", f"{_LEASE}/heal", lease.heal, (_L.GET, _L.HEAL), None, OneLease, headers=_MATCH),
    _V1_2(
        *("POST", f"{_LEASE}/swap", lease.swap, (_L.GET, _L.SWAP), SwapRequest, OneLease),
        headers=_MATCH,
        counts=Operation.SWAP,
    ),
    _V1_3("DELETE", f"{_LEASE}/reservations/{{reservation_id}}", lease.drop, _AMENDS, success=GONE, headers=_MATCH),
    _V1_3("DELETE", _ONE_OF, lease.vacate, _AMENDS, success=GONE, headers=_MATCH),
    _V1_3("GET", _LENT, sub_lease.list_all, (_L.GET,), None, SubLeaseList),
    _V1_3("POST", _LENT, sub_lease.create, _LENDS, SubLeaseCreation, OneSubLease, CREATED, headers=_BOTH),
    _V1_3("DELETE", f"{_LENT}/{{sub_lease_id}}", sub_lease.delete, _OFFERS_OF, success=GONE),
    _V1_3(
        *("POST", f"{_LEASE}/published-offers", published_offer.create_of_lease, _OFFERS_OF),
        *(SubOfferCreation, OnePublishedOffer, CREATED),
    ),
    _V1_2(
        *("GET", "/v1/events", event_log.list_events, (event_log_rules.GET,), None, LogEventList),
        query=_READING,
        filters=("type", "from"),
    ),
    _V1_2("GET", "/v1/resources", resource.list_types, (_R.GET,), None, ResourceTypeList),
    _V1_2(
        *("GET", _TYPE, resource.list_resources, (_R.GET,), None, ResourceList),
        filters=resource.LISTED.query,
    ),
    _V1_2("POST", _TYPE, resource.create, (_R.POST,), ResourceCreation, OneResource, CREATED),
    _V1_2(
        *("GET", _HELD, allocation.list_allocations, (_R.GET_ALLOCATIONS,), None, AllocationList),
        query=_NARROW,
        filters=allocation.LISTED.query,
    ),
    _V1_2("GET", _KEYS, properties.list_properties, (_R.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    _V1_2("PATCH", f"{_KEYS}/{{name}}", properties.change, (_R.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    _V1_2("GET", _RESOURCE, resource.show, (_R.GET,), None, OneResource),
    _V1_2("PUT", _RESOURCE, resource.change, (_R.GET, _R.PUT), ResourceChange, OneResource),
    _V1_2("DELETE", _RESOURCE, resource.delete, (_R.GET, _R.DELETE), success=GONE),
    _V1_2(
        *("GET", _WINDOWS, maintenance.list_maintenances, (_M.GET,), None, MaintenanceList),
        filters=("limit", "marker", *FILTERS),
    ),
    _V1_2(
        *("POST", _WINDOWS, maintenance.create, (_M.POST,), MaintenanceCreation, OneMaintenance, CREATED),
        counts=Operation.MAINTENANCE,
    ),
    _V1_2("GET", _WINDOW, maintenance.show, (_M.GET,), None, OneMaintenance),
    _V1_2("DELETE", _WINDOW, maintenance.delete, (_M.DELETE,), success=GONE),
    _V1_2("GET", f"{_RESOURCE}/allocation", allocation.show, (_R.GET_ALLOCATIONS,), None, OneAllocation, query=_NARROW),
    _V1_2(
        *("GET", "/v1/subscriptions", subscription.list_subscriptions, (_S.GET,), None, SubscriptionList),
        query=_EVERY,
        filters=subscription.LISTED.query,
    ),
    _V1_2("POST", "/v1/subscriptions", subscription.create, (_S.POST,), SubscriptionCreation, OneSubscription, CREATED),
    _V1_2("GET", _SUBSCRIPTION, subscription.show, (_S.GET,), None, OneSubscription),
    _V1_2("DELETE", _SUBSCRIPTION, subscription.delete, (_S.DELETE,), success=GONE),
    _V1_2("GET", _DEAD, subscription.list_dead_letters, (_S.GET,), None, DeadLetterList, query=("after", "limit")),
    _V1_2("POST", f"{_SUBSCRIPTION}/replay", subscription.replay, (_S.REPLAY,), Replay, OneSubscription),
    _V1_2(
        *("GET", _ALARMS, alarm.list_alarms, (_A.GET,), None, AlarmList),
        query=_EVERY,
        filters=alarm.LISTED.query,
    ),
    _V1_2("POST", _ALARMS, alarm.create, (_A.POST,), AlarmCreation, OneAlarm, CREATED),
    _V1_2("GET", _ALARM, alarm.show, (_A.GET,), None, OneAlarm),
    _V1_2("DELETE", _ALARM, alarm.delete, (_A.DELETE,), success=GONE),
    _V1_2(
        *("GET", _MANY, series.list_series, (_C.GET,), None, SeriesList),
        query=_EVERY,
        filters=series.LISTED.query,
    ),
    _V1_2("POST", _MANY, series.create, (_C.POST, _L.POST), SeriesCreation, OneSeries, CREATED, headers=_KEY),
    _V1_2("GET", _SERIES, series.show, (_C.GET,), None, OneSeries),
    _V1_2("PUT", _SERIES, series.amend, (_C.GET, _C.PUT, _L.PUT), SeriesAmendment, OneSeries),
    _V1_2("DELETE", _SERIES, series.delete, (_C.GET, _C.DELETE, _L.DELETE), success=GONE),
    _V1_3("GET", _FREE, availability.show, (_Q.GET,), None, OneAvailability, query=availability.QUERY, open_query=True),
    _V1_3(
        *("GET", "/v1/timeline", timeline.show, (timeline_rules.GET,), None, OneTimeline),
        query=timeline.QUERY,
        headers=(timeline.IF_NONE_MATCH,),
    ),
    _V1_3(
        *("GET", _OFFERS, held_offer.list_offers, (_O.GET,), None, OfferList),
        query=_EVERY,
        filters=held_offer.LISTED.query,
    ),
    _V1_3(
        *("POST", _OFFERS, held_offer.create, (_O.POST, _L.POST), OfferCreation, OneOffer, CREATED),
        headers=_KEY,
        counts=Operation.OFFER,
    ),
    _V1_3("GET", _OFFER, held_offer.show, (_O.GET,), None, OneOffer),
    _V1_3("DELETE", _OFFER, held_offer.delete, (_O.GET, _O.DELETE), success=GONE),
    _V1_3("POST", f"{_OFFER}/accept", held_offer.accept, (_O.GET, _O.ACCEPT, _L.POST), None, OneLease, CREATED),
    _V1_3("POST", f"{_FREE}/search", availability.search, (_Q.SEARCH,), WindowSearch, WindowList),
    _V1_3(
        *("GET", f"{_FREE}/properties", availability.list_properties, (_Q.GET_PROPERTIES,), None, AskableList),
        query=("resource_type",),
    ),
    _V1_3("GET", "/v1/regions", region.list_regions, (_G.GET,), None, RegionList),
    _V1_3(
        *("GET", _EVERYWHERE, region.show, (_G.GET, _Q.GET), None, RegionAvailabilityList),
        query=region.QUERY,
        open_query=True,
    ),
    _V1_3("POST", f"{_EVERYWHERE}/search", region.search, (_G.GET, _Q.SEARCH), RegionSearch, RegionWindowsList),
    _V1_3(
        *("GET", _FEEDS, feed.list_feeds, (_D.GET,), None, FeedList),
        query=_EVERY,
        filters=feed.LISTED.query,
    ),
    _V1_3("POST", _FEEDS, feed.create, (_D.POST,), FeedCreation, OneFeed, CREATED),
    _V1_3("GET", _FEED, feed.show, (_D.GET,), None, OneFeed),
    _V1_3("DELETE", _FEED, feed.delete, (_D.GET, _D.DELETE), success=GONE),
    _V1_3(
        *("GET", _TEMPLATES, template.list_templates, (_T.GET,), None, TemplateList),
        query=_EVERY,
        filters=template.LISTED.query,
    ),
    _V1_3("POST", _TEMPLATES, template.create, (_T.POST,), TemplateCreation, OneTemplate, CREATED),
    _V1_3("GET", _TEMPLATE, template.show, (_T.GET,), None, OneTemplate),
    _V1_3("PUT", _TEMPLATE, template.amend, (_T.PUT,), TemplateAmendment, OneTemplate),
    _V1_3("DELETE", _TEMPLATE, template.delete, (_T.DELETE,), success=GONE),
    _V1_3("GET", f"{_TYPE}/candidates", resource.list_candidates, (_R.GET_CANDIDATES,), None, CandidateList),
    _V1_3(
        *("GET", "/v1/owned-resources", owned_resource.list_owned, (_W.GET,), None, OwnedResourceList),
        query=_EVERY,
        filters=owned_resource.LISTED.query,
    ),
    _V1_3("DELETE", "/v1/owned-leases/{owned_id}", owned_resource.end_lease, (_W.END_LEASE,), success=GONE),
    _V1_3(
        *("GET", _PUBLISHED, published_offer.list_published, (_U.GET,), None, PublishedOfferList),
        query=_EVERY,
        filters=published_offer.LISTED.query,
    ),
    _V1_3("POST", _PUBLISHED, published_offer.create, (_U.POST,), PublishedOfferCreation, OnePublishedOffer, CREATED),
    _V1_3("GET", _ONE_PUBLISHED, published_offer.show, (_U.GET,), None, OnePublishedOffer),
    _V1_3("DELETE", _ONE_PUBLISHED, published_offer.delete, (_U.GET, _U.DELETE), success=GONE),
    _V1_3(
        *("POST", f"{_ONE_PUBLISHED}/claims", published_offer.claim, (_U.GET, _U.CLAIM, _L.POST)),
        *(ClaimCreation, OneLease, CREATED),
        headers=_KEY,
        counts=Operation.CREATE,
    ),
    _V1_3("GET", "/v1/audit", audit.show, (_N.GET,), None, OneAudit),
    _V1_3("POST", "/v1/audit", audit.ask, (_N.POST,), None, OneAudit, ACCEPTED),
    _V1_3("GET", "/v1/refusals", refusal.list_refusals, (_B.GET,), None, RefusalList, query=("from", "to")),
    _V1_3("GET", "/v1/forecast", forecast.show, (_P.GET,), None, OneForecast, query=forecast.QUERY),
    # At every microversion: calendar programs ask for none.
    Route("GET", "/v1/feeds/{token}.ics", feed.read, answer=str, media_type=feed.CALENDAR_TYPE, public=True),
)
