"""Rules about leases."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule

GET = Rule("blazar:leases:get", READER_OR_ADMIN, "List leases, or show one.", was_open=True)
POST = Rule("blazar:leases:post", MEMBER_OR_ADMIN, "Create a lease.", was_open=True)
PUT = Rule(
    "blazar:leases:put", MEMBER_OR_ADMIN, "Amend a lease, or drop a reservation or a resource of it.", was_open=True
)
DELETE = Rule("blazar:leases:delete", MEMBER_OR_ADMIN, "Delete a lease.", was_open=True)
GET_RESOURCES = Rule(
    "leasehold:leases:get_resources",
    READER_OR_ADMIN,
    "Show the resources that a lease has; their ids and names only to who may do blazar:oshosts:get too.",
)
SWAP = Rule(
    "leasehold:leases:swap",
    MEMBER_OR_ADMIN,
    "Swap a host of a lease for another one; who names the host and not a server needs blazar:oshosts:get too.",
)
HEAL = Rule("leasehold:leases:heal", MEMBER_OR_ADMIN, "Have the failed resources of a lease replaced now.")
USE_DISABLED = Rule(
    "leasehold:leases:use_disabled",
    ADMIN,
    "Get disabled resources, where nothing else fits, in a new lease or an amendment of one's own lease.",
)
GIVE_BACK = Rule(
    "leasehold:leases:give_back",
    ADMIN,
    "Ask that hosts with servers leave the reservation pool at the end of a lease (`on_end: give_back`).",
)
BEST_EFFORT = Rule(
    "leasehold:leases:best_effort",
    MEMBER_OR_ADMIN,
    "Create a lease of the type best_effort, for which servers on shared hosts may have to move.",
)
ON_BEHALF = Rule(
    "leasehold:leases:on_behalf",
    ADMIN,
    "Create a lease for another project (`project_id`), whose members then have it and whose limits count.",
)
OPEN_ENDED = Rule(
    "leasehold:leases:open_ended",
    ADMIN,
    "Ask for a lease without an end (`open_ended`), where the operators have such leases.",
)
SHARE = Rule("leasehold:leases:share", MEMBER_OR_ADMIN, "Let other projects use a lease (`shared_with`).")
GET_HISTORY = Rule(
    "leasehold:leases:get_history",
    READER_OR_ADMIN,
    "Show the changes of a lease, and what it was at a moment (`as_of`); what it held then only to who "
    "may do leasehold:leases:get_resources too.",
)
GET_DELETED = Rule(
    "leasehold:leases:get_deleted", READER_OR_ADMIN, "List deleted leases (`deleted`), and show the past of one."
)
CHANGE_MAINTENANCE = Rule("leasehold:maintenances:delete", ADMIN, "Delete a maintenance window, or change its lease.")
"""Who changes the lease of a maintenance window needs the rule about deleting one."""
