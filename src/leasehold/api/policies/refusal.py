"""The rule about counts of refused requests."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only

GET = "leasehold:refusals:get"

RULES = [admin_only(GET, "Show how many requests of all projects were refused, and why.", "GET", "/v1/refusals")]
