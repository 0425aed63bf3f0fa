"""Rules about leases."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, owned, rule

GET = "blazar:leases:get"
POST = "blazar:leases:post"
PUT = "blazar:leases:put"
DELETE = "blazar:leases:delete"
GET_RESOURCES = "leasehold:leases:get_resources"
SWAP = "leasehold:leases:swap"
HEAL = "leasehold:leases:heal"
USE_DISABLED = "leasehold:leases:use_disabled"
GIVE_BACK = "leasehold:leases:give_back"
BEST_EFFORT = "leasehold:leases:best_effort"
ON_BEHALF = "leasehold:leases:on_behalf"
OPEN_ENDED = "leasehold:leases:open_ended"
SHARE = "leasehold:leases:share"
GET_HISTORY = "leasehold:leases:get_history"
GET_DELETED = "leasehold:leases:get_deleted"
CHANGE_MAINTENANCE = "leasehold:maintenances:delete"
"""Who changes the lease of a maintenance window needs the rule about deleting one."""

RULES = [
    owned(GET, READER_OR_ADMIN, "List leases, or show one.", "GET", "/v1/leases"),
    owned(POST, MEMBER_OR_ADMIN, "Create a lease.", "POST", "/v1/leases"),
    owned(
        PUT,
        MEMBER_OR_ADMIN,
        "Amend a lease, or drop a reservation or a resource of it.",
        "PUT",
        "/v1/leases/{lease_id}",
    ),
    owned(DELETE, MEMBER_OR_ADMIN, "Delete a lease.", "DELETE", "/v1/leases/{lease_id}"),
    rule(
        GET_RESOURCES,
        READER_OR_ADMIN,
        "Show the resources that a lease has; their ids and names only to who may do blazar:oshosts:get too.",
        "GET /v1/leases/{lease_id}/resources",
    ),
    rule(
        SWAP,
        MEMBER_OR_ADMIN,
        "Swap a host of a lease for another one; who names the host and not a server needs blazar:oshosts:get too.",
        "POST /v1/leases/{lease_id}/swap",
    ),
    rule(
        HEAL, MEMBER_OR_ADMIN, "Have the failed resources of a lease replaced now.", "POST /v1/leases/{lease_id}/heal"
    ),
    rule(
        USE_DISABLED,
        ADMIN,
        "Get disabled resources, where nothing else fits, in a new lease or an amendment of one's own lease.",
        "POST /v1/leases",
        "PUT /v1/leases/{lease_id}",
    ),
    rule(
        GIVE_BACK,
        ADMIN,
        "Ask that hosts with servers leave the reservation pool at the end of a lease (`on_end: give_back`).",
        "POST /v1/leases",
        "PUT /v1/leases/{lease_id}",
        "POST /v1/series",
        "PUT /v1/series/{series_id}",
    ),
    rule(
        BEST_EFFORT,
        MEMBER_OR_ADMIN,
        "Create a lease of the type best_effort, for which servers on shared hosts may have to move.",
        "POST /v1/leases",
    ),
    rule(
        ON_BEHALF,
        ADMIN,
        "Create a lease for another project (`project_id`), whose members then have it and whose limits count.",
        "POST /v1/leases",
        "POST /v1/availability/search",
    ),
    rule(SHARE, MEMBER_OR_ADMIN, "Let other projects use a lease (`shared_with`).", "PUT /v1/leases/{lease_id}"),
    rule(
        OPEN_ENDED,
        ADMIN,
        "Ask for a lease without an end (`open_ended`), where the operators have such leases.",
        "POST /v1/leases",
        "PUT /v1/leases/{lease_id}",
    ),
    rule(
        GET_HISTORY,
        READER_OR_ADMIN,
        "Show the changes of a lease, and what it was at a moment (`as_of`); what it held then only to who may do "
        "leasehold:leases:get_resources too.",
        "GET /v1/leases/{lease_id}/history",
        "GET /v1/leases/{lease_id}",
    ),
    rule(
        GET_DELETED,
        READER_OR_ADMIN,
        "List deleted leases (`deleted`), and show the past of one.",
        "GET /v1/leases",
        "GET /v1/leases/{lease_id}/history",
    ),
]
