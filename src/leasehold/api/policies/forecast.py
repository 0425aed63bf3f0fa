"""The rule about the forecast of demand."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only

GET = "leasehold:forecast:get"

RULES = [
    admin_only(GET, "Show how much all projects will ask for, and how much will be missing.", "GET", "/v1/forecast")
]
