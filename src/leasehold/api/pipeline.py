"""The pipeline: processes every request, from its first header to the last byte of its answer."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from leasehold.api import body, errors, request_ids, strict, versions
from leasehold.api.admission_control import OUTSIDE
from leasehold.api.call import NOBODY, Call
from leasehold.api.listing import Listing
from leasehold.api.models.base import read
from leasehold.api.parking import parking_of
from leasehold.leasing import queries
from leasehold.leasing.alarm import get_alarm
from leasehold.leasing.series import get_series
from leasehold.leasing.subscription import get_subscription
from leasehold.model.errors import UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from http import HTTPStatus

    import falcon

    from leasehold.api.call import Api
    from leasehold.api.router import Router
    from leasehold.api.routes import Route
    from leasehold.model.caller import Caller

LOG = logging.getLogger(__name__)

JSON_TYPE = "application/json"


def answer(api: Api, routes: Router, request: falcon.Request, response: falcon.Response) -> None:
    """Answer `request`, in this order: request id, permit, caller, version, route, policy, body, handler.

    The caller comes before the route, so that callers who cannot log in do not learn which paths exist.
    """
    response.set_header(request_ids.HEADER, request_ids.begin(request.get_header(request_ids.HEADER)))
    version = None
    try:
        path_routes, values = routes.find(request.path)
        public = path_routes is not None and path_routes.public
        instant = path_routes is not None and path_routes.instant
        with nullcontext(OUTSIDE) if instant else api.admission.admit(public=public) as permit:
            caller = NOBODY if public else identify(api, request)
            request_ids.name(caller)
            version = versions.requested(None if public else request.get_header(versions.HEADER))
            route = routes.choose(path_routes, request.method, version)
            call = Call(api, request, caller, version, permit)
            arguments = authorize(call, route, values)
            if call.strict and not route.open_query:
                strict.check_query(request.params, route.query_at(version))
            if route.request is not None:
                # Browsers let a page of another site send a body without a type, and make no preflight request for it.
                typed = api.settings.auth_strategy == "none"
                sent = body.read(request, api.settings.max_body, typed=typed)
                arguments["body"] = read(route.request, sent, version, strict=call.strict)
            reply = route.handler(call, **arguments)
        if reply.wait is not None:
            reply.wait()
    except Exception as error:  # noqa: BLE001 - here every error becomes an answer.
        failure = errors.answer_for(error, challenge=api.authenticator.challenge)
        marks = versions.headers(version) if version is not None and failure.versioned else {}
        write(response, failure.status, failure.body, {**failure.headers, **marks})
    else:
        marks = {} if route.public else versions.headers(version)
        write(response, reply.status or route.success, reply.body, {**reply.headers, **marks})


def identify(api: Api, request: falcon.Request) -> Caller:
    """Return the caller; raises TooManyRequestsError for a caller beyond the rate limits.

    A failed login counts against the address that it came from, and the log names that address.
    """
    try:
        with api.rates.login(request):
            caller = api.authenticator.identify(request)
    except UnauthorizedError:
        LOG.info("A login from %s failed.", request.remote_addr)
        raise
    parking = parking_of(request.env)
    if parking is None or parking.note is None:
        # A request that was parked has been counted.
        api.rates.count(request, caller)
    return caller


def authorize(call: Call, route: Route, values: Mapping[str, str]) -> dict[str, Any]:
    """Check the policies, and return the handler's arguments from the path: a lease or a series, not its id.

    The target of a lease's rules is the owner of the lease, never the caller (contract http-api §5.2), and so for a
    series, a subscription and an alarm.
    """
    arguments: dict[str, Any] = dict(values)
    target: Any = call.caller
    if "lease_id" in arguments:
        target = arguments["lease"] = queries.get_lease(call.service, arguments.pop("lease_id"))
    if "subscription_id" in arguments:
        ident = arguments.pop("subscription_id")
        target = arguments["subscription"] = get_subscription(call.service, ident)
    if "alarm_id" in arguments:
        target = arguments["alarm"] = get_alarm(call.service, arguments.pop("alarm_id"))
    if "series_id" in arguments:
        target = arguments["series"] = get_series(call.service, arguments.pop("series_id"))
    for rule in route.rules:
        call.api.policies.require(rule, call.caller, target)
    return arguments


def write(
    response: falcon.Response,
    status: HTTPStatus,
    content: Mapping[str, Any] | Listing | None,
    headers: Mapping[str, str],
) -> None:
    """Write an answer; without content the body is empty and has no content type."""
    response.status = status
    response.set_headers(dict(headers))
    if content is None:
        response.data = b""
        return
    response.content_type = JSON_TYPE
    if isinstance(content, Listing):
        response.data = content.content
        if response.data is None:
            response.set_stream(iter(content), content.length)
        return
    response.data = json.dumps(content, separators=(",", ":")).encode("ascii")
