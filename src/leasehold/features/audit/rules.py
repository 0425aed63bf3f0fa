"""The rules about the periodic audit."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only

GET = "leasehold:audit:get"
POST = "leasehold:audit:post"

RULES = [
    admin_only(GET, "Show what the periodic audit has found last.", "GET", "/v1/audit"),
    admin_only(POST, "Ask for a round of the periodic audit now.", "POST", "/v1/audit"),
]
