"""Routes that need no identity."""

from __future__ import annotations

from typing import Any

from leasehold.api.handlers.version import HealthAnswer, VersionList, check_health, list_versions, show_document
from leasehold.api.route import CHOICES, Route

ROUTES = (
    Route("GET", "/", list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/versions", list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/healthcheck", check_health, answer=HealthAnswer, public=True, instant=True),
    Route("GET", "/v1/openapi.json", show_document, answer=dict[str, Any], public=True),
)
