"""Routes of floating IPs."""

from __future__ import annotations

from leasehold.api.handlers.floatingip import LISTED, create, delete, list_floating_ips, show
from leasehold.api.models.floatingip import FloatingIpCreation, FloatingIpList, OneFloatingIp
from leasehold.api.policies import floatingip as rules
from leasehold.api.route import CREATED, GONE, Route

_ALL, _ONE = "/v1/floatingips", "/v1/floatingips/{floatingip_id}"

ROUTES = (
    Route("GET", _ALL, list_floating_ips, (rules.GET,), None, FloatingIpList, filters=LISTED.query),
    Route("POST", _ALL, create, (rules.POST,), FloatingIpCreation, OneFloatingIp, CREATED),
    Route("GET", _ONE, show, (rules.GET,), None, OneFloatingIp),
    Route("DELETE", _ONE, delete, (rules.GET, rules.DELETE), success=GONE),
)
