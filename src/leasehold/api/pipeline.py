"""The pipeline: processes every request, from its first header to the last byte of its answer."""

from __future__ import annotations

import logging
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from leasehold.api import body, errors, request_ids, strict, versions
from leasehold.api.additions import filled
from leasehold.api.call import NOBODY, Call, Text
from leasehold.api.limits.admission_control import OUTSIDE
from leasehold.api.limits.parking import parking_of
from leasehold.api.listing import Listing
from leasehold.api.models.base import read
from leasehold.db.committed import noting_commits
from leasehold.db.store import UnknownOutcomeError
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.lease_then import get_any_lease
from leasehold.model.actor import Actor, acting
from leasehold.model.errors import LimitExceededError, NotEnoughError, UnauthorizedError
from leasehold.model.json_bytes import as_json
from leasehold.model.refused import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http import HTTPStatus

    import falcon

    from leasehold.api.call import Api, Reply
    from leasehold.api.route import Route
    from leasehold.api.router import Router
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

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
            if version >= versions.FILTERS:
                strict.check_values(request.params)
            with acting(_actor(caller, arguments)), _saying_what_was_committed():
                reply = handle(call, route, arguments)
        if reply.wait is not None:
            reply.wait()
    except Exception as error:  # noqa: BLE001 - here every error becomes an answer.
        failure = errors.answer_for(error, challenge=api.authenticator.challenge)
        marks = versions.headers(version) if version is not None and failure.versioned else {}
        write(response, failure.status, failure.body, {**failure.headers, **marks})
    else:
        marks = {} if route.public else versions.headers(version)
        write(response, reply.status or route.success, reply.body, {**marks, **reply.headers})


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
    """Check the policies, and return the handler's arguments from the path: a lease, not its id.

    The target of a lease's rules is the owner of the lease, never the caller (contract http-api §5.2), and so for
    an offer and every other noun.
    """
    arguments: dict[str, Any] = dict(values)
    target: Any = call.caller
    if "lease_id" in arguments:
        find = get_any_lease if route.shows_past(call) else queries.get_lease
        target = arguments["lease"] = find(call.service, arguments.pop("lease_id"))
    if (noun := route.noun) is not None:
        found = arguments[noun.argument] = noun.find(call.service, arguments.pop(noun.variable))
        target = call.caller if noun.shared is not None and noun.shared(found) else found
    for rule in route.rules:
        call.api.policies.require(rule, call.caller, target)
    return arguments


def handle(call: Call, route: Route, arguments: Mapping[str, Any]) -> Reply:
    """Read the body, with what is added to it, and call the handler."""
    if route.request is None:
        return route.handler(call, **arguments)
    # Browsers let a page of another site send a body without a type, and make no preflight request for it. They say
    # so in this header; programs do not send it, and may leave the type out as Blazar's clients may.
    typed = call.api.settings.auth_strategy == "none" or call.request.get_header("Sec-Fetch-Mode") is not None
    sent = body.read(call.request, call.api.settings.max_body, typed=typed, strict=call.strict)
    with filled(call, route.request, sent) as added, _counted(call, route, sent):
        asked = read(route.request, sent, call.version, strict=call.strict, added=added)
        return route.handler(call, **arguments, body=asked)


@contextmanager
def _saying_what_was_committed() -> Iterator[None]:
    """Raise UnknownOutcomeError for a database that is lost after something was committed.

    An answer is read after the commit, and "nothing was changed" would be wrong then.
    """
    with noting_commits() as committed:
        try:
            yield
        except errors.WITHOUT_DATABASE as error:
            if not committed.anything:
                raise
            message = "The database was lost when the change was committed, before the answer was read."
            raise UnknownOutcomeError(message) from error


@contextmanager
def _counted(call: Call, route: Route, sent: Mapping[str, Any]) -> Iterator[None]:
    """Count a refusal for operators; one that is only tried (`dry_run`) is none."""
    try:
        yield
    except (NotEnoughError, LimitExceededError) as error:
        if route.counts is not None and not sent.get("dry_run"):
            refused = Refused.by(error, route.counts, call.caller.project_id)
            call.api.refusals.note(call.service.now(), refused)
        raise


def _actor(caller: Caller, arguments: Mapping[str, Any]) -> Actor:
    """Return who asks for what the handler changes; the lease or the offer that the path names is what it is about."""
    named: Lease | None = arguments.get("lease") or arguments.get("offer")
    return Actor(caller.user_id, caller.project_id, None if named is None else named.id)


def write(
    response: falcon.Response,
    status: HTTPStatus,
    content: Mapping[str, Any] | Listing | Text | None,
    headers: Mapping[str, str],
) -> None:
    """Write an answer; without content the body is empty and has no content type."""
    response.status = status
    response.set_headers(dict(headers))
    if content is None:
        response.data = b""
        return
    if isinstance(content, Text):
        response.data, response.content_type = content.content, content.media_type
        return
    response.content_type = JSON_TYPE
    if isinstance(content, Listing):
        response.data = content.content
        if response.data is None:
            response.set_stream(iter(content), content.length)
        return
    response.data = as_json(content)
