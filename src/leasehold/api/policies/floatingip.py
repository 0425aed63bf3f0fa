"""Rules about floating IPs."""

from __future__ import annotations

from leasehold.api.policies.base import READER_OR_ADMIN, admin_only, owned

GET = "blazar:floatingips:get"
POST = "blazar:floatingips:post"
DELETE = "blazar:floatingips:delete"

RULES = [
    owned(GET, READER_OR_ADMIN, "List floating IPs, or show one.", "GET", "/v1/floatingips"),
    admin_only(POST, "Enrol a floating IP.", "POST", "/v1/floatingips"),
    admin_only(DELETE, "Remove a floating IP.", "DELETE", "/v1/floatingips/{floatingip_id}"),
]
