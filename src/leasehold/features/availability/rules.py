"""The rules about availability: everybody may ask, because the answers say how many and not who.

What is free in another region is decided by the rules of that region's own service.
"""

from __future__ import annotations

from leasehold.api.policies.base import READER_OR_ADMIN, rule

GET = "leasehold:availability:get"
SEARCH = "leasehold:availability:search"
GET_PROPERTIES = "leasehold:availability:get_properties"
GET_REGIONS = "leasehold:regions:get"

RULES = [
    rule(GET, READER_OR_ADMIN, "Ask how much of a resource type is free, and when.", "GET /v1/availability"),
    rule(
        SEARCH,
        READER_OR_ADMIN,
        "Search the first windows in which a lease would be granted.",
        "POST /v1/availability/search",
    ),
    rule(
        GET_PROPERTIES,
        READER_OR_ADMIN,
        "List by which properties leases can choose resources, without those that are private.",
        "GET /v1/availability/properties",
    ),
    rule(
        GET_REGIONS,
        READER_OR_ADMIN,
        "List the regions, and ask their services how much is free there.",
        "GET /v1/regions",
        "GET /v1/regions/availability",
        "POST /v1/regions/availability/search",
    ),
]
