"""The rules about the timeline: everybody sees what is taken, and only operators see by whom."""

from __future__ import annotations

from leasehold.api.policies.base import READER_OR_ADMIN, admin_only, rule

GET = "leasehold:timeline:get"
GET_ALL = "leasehold:timeline:get_all"

PATH = "/v1/timeline"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "See when resources are taken, and which bars are those of the own project.",
        f"GET {PATH}",
    ),
    admin_only(GET_ALL, "See the leases of all projects in the timeline, and which resource is which.", "GET", PATH),
]
