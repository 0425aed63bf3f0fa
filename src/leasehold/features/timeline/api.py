"""The timeline, from 1.3 on (issue 14, decision 0095)."""

from __future__ import annotations

import gzip
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from leasehold.api import dates, versions
from leasehold.api.call import Reply, Text
from leasehold.api.handlers.lease_then import AS_OF
from leasehold.api.paging import asked_page
from leasehold.api.policies.base import ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import V1_3
from leasehold.api.spans import USUAL
from leasehold.features.timeline.bodies import OneTimeline
from leasehold.features.timeline.rows import FILTER, Eyes
from leasehold.features.timeline.use import MOST_ROWS, TimelineQuestion, timeline_of
from leasehold.features.timeline.view import show_timeline
from leasehold.model.errors import ForbiddenError, InvalidDateError
from leasehold.model.json_bytes import as_json
from leasehold.model.resource import HOST
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.api.call import Call

QUERY: Final = ("from", "to", "resource_type", FILTER, AS_OF, "limit", "marker")
IF_NONE_MATCH: Final = "If-None-Match"
LEAST_PACKED: Final = 1024
"""Bytes from which on an answer is compressed for who accepts that."""
_LEVEL: Final = 5
_JSON_TYPE: Final = "application/json"
_KEPT: Final = {
    "Cache-Control": "private, no-cache",
    "Vary": f"{versions.HEADER}, Accept-Encoding, X-Auth-Token, Authorization",
}


def show(call: Call) -> Reply:
    """Show what resources do in a window, past or future: a row for each, and bars for the time that it is taken.

    `from` is now if it is absent, and `to` a week later. `resource_type` is `physical:host` if it is absent, and may
    be several by commas; rows match the expression `resource_properties`. The caller's project sees its own leases by
    name; what others have is `taken`, without where one lease ends and the next begins. Operators see all leases, and
    which resource is which, and may ask for what was known `as_of` a moment. With `If-None-Match` an answer that has
    not changed is 304.
    """
    eyes = Eyes(call.caller, call.sight, call.api.policies.allows(GET_ALL, call.caller, call.caller))
    limit, marker = asked_page(call)
    question = TimelineQuestion(
        types=[each.strip() for each in (call.query("resource_type") or HOST).split(",")],
        window=_window(call),
        expression=call.query(FILTER),
        limit=limit or MOST_ROWS,
        marker=marker,
        known=_known(call),
        as_of=_as_of(call, eyes),
    )
    found = timeline_of(call.service, eyes, question)
    if isinstance(found, str):
        return Reply(headers={"ETag": _etag(found), **_KEPT}, status=HTTPStatus.NOT_MODIFIED)
    headers = {"ETag": _etag(found.tag), **_KEPT}
    return _packed(call, {"timeline": show_timeline(found, eyes)}, headers)


def _window(call: Call) -> Window:
    now = from_seconds(to_seconds(call.service.now()))
    start = call.query_date("from", now) or now
    end = call.query_date("to", now) or start + USUAL
    if end < start:
        message = "The window has to end after it begins."
        raise InvalidDateError(message, field="to")
    return Window(start, end)


def _as_of(call: Call, eyes: Eyes) -> datetime | None:
    text = call.query(AS_OF)
    if text is None:
        return None
    if not eyes.everything:
        message = "Only operators ask what was known at a moment; leave as_of out."
        raise ForbiddenError(message, field=AS_OF, details={"rule": GET_ALL.name})
    return dates.parse_moment(text, version=call.version, now=call.service.now(), field=AS_OF)


def _etag(tag: str) -> str:
    # Weak: the same answer has other bytes when it is compressed, and another `now`.
    return f'W/"{tag}"'


def _known(call: Call) -> str | None:
    """Return the tag of the answer that the client has; of several the last."""
    header: str | None = call.request.get_header(IF_NONE_MATCH)
    if header is None:
        return None
    return header.rpartition(",")[2].strip().removeprefix("W/").strip('"')


def _packed(call: Call, body: Any, headers: dict[str, str]) -> Reply:
    content = as_json(body)
    if len(content) >= LEAST_PACKED and _accepts_gzip(call.request.get_header("Accept-Encoding") or ""):
        content = gzip.compress(content, _LEVEL, mtime=0)
        headers = {**headers, "Content-Encoding": "gzip"}
    return Reply(Text(content, _JSON_TYPE), headers)


def _accepts_gzip(header: str) -> bool:
    """Say whether a header accepts gzip; it may say that it does not (`gzip;q=0`)."""
    for part in header.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


GET = Rule(
    "leasehold:timeline:get",
    READER_OR_ADMIN,
    "See when resources are taken, and which bars are those of the own project.",
)
GET_ALL = Rule(
    "leasehold:timeline:get_all", ADMIN, "See the leases of all projects in the timeline, and which resource is which."
)

PATH = "/v1/timeline"


ROUTES = (V1_3("GET", PATH, show, (GET,), None, OneTimeline, query=QUERY, headers=(IF_NONE_MATCH,), within=(GET_ALL,)),)
