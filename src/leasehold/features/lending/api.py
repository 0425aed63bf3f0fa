"""The routes of published offers, claims and sub-leases, from 1.3 on."""

from __future__ import annotations

from leasehold.api.models.lease import OneLease
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_3
from leasehold.features.lending import offers, sub_leases
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
from leasehold.model.refused import Operation

_LEASE, _ALL, _ONE = "/v1/leases/{lease_id}", "/v1/published-offers", "/v1/published-offers/{published_id}"

GET = Rule(
    "leasehold:published_offers:get",
    READER_OR_ADMIN,
    "Show the published offers of a project and those open to it; only administrators list those of all projects.",
)
POST = Rule(
    "leasehold:published_offers:post",
    MEMBER_OR_ADMIN,
    "Publish a resource that the project owns; administrators publish for any owner.",
)
DELETE = Rule(
    "leasehold:published_offers:delete",
    MEMBER_OR_ADMIN,
    "Delete a published offer of the project, and the leases that were made of it; administrators any.",
)
CLAIM = Rule(
    "leasehold:published_offers:claim",
    MEMBER_OR_ADMIN,
    "Claim a part of a published offer, which makes a lease; blazar:leases:post is needed too.",
)
LEND = Rule(
    "leasehold:leases:lend",
    ADMIN,
    "Lend hosts of a lease to another project, which is not asked and whose limits count; "
    "blazar:leases:put is needed too.",
)
OFFER = Rule(
    "leasehold:leases:offer",
    MEMBER_OR_ADMIN,
    "Publish hosts of a lease for other projects to claim, and take back what was lent; "
    "blazar:leases:put is needed too.",
)


_LENT, _KEY = f"{_LEASE}/sub-leases", ("Idempotency-Key",)
_AMENDS = (lease_rules.GET, lease_rules.PUT)
_LENDS, _PUBLISHES = (*_AMENDS, LEND), (*_AMENDS, OFFER)
_CLAIMS = (GET, CLAIM, lease_rules.POST)
ROUTES = [
    V1_3("GET", _LENT, sub_leases.list_all, (lease_rules.GET,), None, SubLeaseList),
    V1_3(
        "POST",
        _LENT,
        sub_leases.create,
        _LENDS,
        SubLeaseCreation,
        OneSubLease,
        CREATED,
        headers=(*_KEY, "If-Match"),
        within=(host_rules.GET,),
    ),
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
        (GET,),
        None,
        PublishedOfferList,
        query=EVERY,
        filters=offers.LISTED.query,
    ),
    V1_3("POST", _ALL, offers.create, (POST,), PublishedOfferCreation, OnePublishedOffer, CREATED),
    V1_3("GET", _ONE, offers.show, (GET,), None, OnePublishedOffer),
    V1_3("DELETE", _ONE, offers.delete, (GET, DELETE), success=GONE),
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
