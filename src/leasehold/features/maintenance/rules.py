"""Rules about maintenance windows."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only
from leasehold.api.policies.lease import CHANGE_MAINTENANCE

GET = "leasehold:maintenances:get"
POST = "leasehold:maintenances:post"
DELETE = CHANGE_MAINTENANCE

_ALL = "/v1/maintenances"
_ONE = f"{_ALL}/{{maintenance_id}}"

RULES = [
    admin_only(GET, "List maintenance windows, or show one.", "GET", _ALL),
    admin_only(POST, "Make a maintenance window, and move the leases on its hosts.", "POST", _ALL),
    admin_only(DELETE, "Delete a maintenance window, or amend its lease.", "DELETE", _ONE),
]
