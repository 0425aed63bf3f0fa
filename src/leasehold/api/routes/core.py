"""All routes of the core. Columns: method, path, handler, rules, request, answer, success, and what is rare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.routes import event_log, floatingip, host, lease, resource, version

if TYPE_CHECKING:
    from leasehold.api.route import Route

ROUTES: tuple[Route, ...] = (
    *version.ROUTES,
    *lease.ROUTES,
    *host.ROUTES,
    *floatingip.ROUTES,
    *event_log.ROUTES,
    *resource.ROUTES,
)
