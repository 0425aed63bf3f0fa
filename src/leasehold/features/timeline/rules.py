"""The rules about the timeline: everybody sees what is taken, and only operators see by whom."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE, admin_only

GET = "leasehold:timeline:get"
GET_ALL = "leasehold:timeline:get_all"

PATH = "/v1/timeline"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "See when resources are taken, and which bars are those of the own project.",
        [{"path": PATH, "method": "GET"}],
        scope_types=SCOPE,
    ),
    admin_only(GET_ALL, "See the leases of all projects in the timeline, and which resource is which.", "GET", PATH),
]
