"""The routes of published offers, claims and sub-leases, from 1.3 on."""

from __future__ import annotations

from leasehold.api.models.lease import OneLease
from leasehold.api.policies import lease as lease_rules
from leasehold.api.route import CREATED, EVERY, GONE, V1_3
from leasehold.features.lending import offers, rules, sub_leases
from leasehold.features.lending.bodies import (
    ClaimCreation,
    OnePublishedOffer,
    OneSubLease,
    PublishedOfferCreation,
    PublishedOfferList,
    SubLeaseCreation,
    SubLeaseList,
    SubOfferCreation,
)
from leasehold.features.lending.rules import RULES
from leasehold.model.refused import Operation

__all__ = ["ROUTES", "RULES"]

_LEASE, _ALL, _ONE = "/v1/leases/{lease_id}", "/v1/published-offers", "/v1/published-offers/{published_id}"
_LENT, _KEY = f"{_LEASE}/sub-leases", ("Idempotency-Key",)
_AMENDS = (lease_rules.GET, lease_rules.PUT)
_LENDS, _PUBLISHES = (*_AMENDS, rules.LEND), (*_AMENDS, rules.OFFER)
_CLAIMS = (rules.GET, rules.CLAIM, lease_rules.POST)
ROUTES = [
    V1_3("GET", _LENT, sub_leases.list_all, (lease_rules.GET,), None, SubLeaseList),
    V1_3("POST", _LENT, sub_leases.create, _LENDS, SubLeaseCreation, OneSubLease, CREATED, headers=(*_KEY, "If-Match")),
    V1_3("DELETE", f"{_LENT}/{{sub_lease_id}}", sub_leases.delete, _PUBLISHES, success=GONE),
    V1_3(
        "POST",
        f"{_LEASE}/published-offers",
        offers.create_of_lease,
        _PUBLISHES,
        SubOfferCreation,
        OnePublishedOffer,
        CREATED,
    ),
    V1_3(
        "GET",
        _ALL,
        offers.list_published,
        (rules.GET,),
        None,
        PublishedOfferList,
        query=EVERY,
        filters=offers.LISTED.query,
    ),
    V1_3("POST", _ALL, offers.create, (rules.POST,), PublishedOfferCreation, OnePublishedOffer, CREATED),
    V1_3("GET", _ONE, offers.show, (rules.GET,), None, OnePublishedOffer),
    V1_3("DELETE", _ONE, offers.delete, (rules.GET, rules.DELETE), success=GONE),
    V1_3(
        "POST",
        f"{_ONE}/claims",
        offers.claim,
        _CLAIMS,
        ClaimCreation,
        OneLease,
        CREATED,
        headers=_KEY,
        counts=Operation.CREATE,
    ),
]
