"""Calendar feeds, from 1.3 on (idea 6, decision 0076)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict

from leasehold.api.call import Reply, Text
from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_3, Noun, Route
from leasehold.api.views.shown import shown
from leasehold.features.feed import use as feeds
from leasehold.features.feed.calendar import write_calendar
from leasehold.features.feed.model import UnknownFeedError
from leasehold.model.caller import Caller

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.feed.model import Feed


class FeedCreation(RequestModel):
    """The body of POST /v1/feeds: a name for calendars to show, and whether it has only the caller's own leases."""

    name: OptionalName = ""
    own: bool = False


class FeedAnswer(TypedDict):
    """A calendar feed; `url` is there once, in the answer that made it."""

    id: str
    name: str
    project_id: str
    user_id: str
    own: bool
    created_at: str
    url: NotRequired[str]


OneFeed = answer("OneFeed", "The answer about one feed.", feed=FeedAnswer)
FeedList = answer("FeedList", "The answer about feeds.", feeds=list[FeedAnswer])


LOG = logging.getLogger(__name__)

LISTED = ListKeys(texts=("name",), switches=("own",), sorts=("created_at", "name"))
CALENDAR_TYPE: Final = "text/calendar; charset=utf-8"
# Neither a shared cache nor the address of a page that is reached from a calendar may give the token away.
_PRIVATE: Final = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer"}


def list_feeds(call: Call) -> Reply:
    """Show the calendar feeds of the caller's project; an administrator may ask for those of `all_projects`.

    In pages, by name and by whether they have one user's leases, and sorted.
    """
    found = feeds.FEEDS.page(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"feeds": [shown(FeedAnswer, each) for each in found]})


def create(call: Call, body: FeedCreation) -> Reply:
    """Make a calendar feed of the leases of the caller's project, or with `own` of the caller's in it.

    The answer is the only one with its `url`, which calendar programs read without a login. It shows the leases that
    have not ended more than 30 days ago.
    """
    made, token = feeds.make_feed(call.service, call.caller, body.name, own=body.own)
    url = f"{call.request.prefix}/v1/feeds/{token}.ics"
    return Reply({"feed": shown(FeedAnswer, made, url=url)}, _PRIVATE)


def show(call: Call, feed: Feed) -> Reply:  # noqa: ARG001 - as all handlers
    """Show one calendar feed, without its address."""
    return Reply({"feed": shown(FeedAnswer, feed)})


def delete(call: Call, feed: Feed) -> Reply:
    """Delete a calendar feed; its address answers nobody any more."""
    feeds.FEEDS.delete(call.service, feed.id)
    return Reply()


def read(call: Call, token: str) -> Reply:
    """Show a calendar feed in iCalendar. The address is the permission: there is no login and no microversion.

    An address that is not that of a feed counts as a failed login, and other requests count for the feed's project.
    """
    try:
        # Whoever names a feed that there is not guesses its address.
        with call.api.rates.login(call.request, UnknownFeedError):
            feed = feeds.open_feed(call.service, token)
    except UnknownFeedError:
        LOG.info("A request from %s for a calendar feed named none.", call.request.remote_addr)
        raise
    call.api.rates.count(call.request, Caller(user_id=feed.user_id, project_id=feed.project_id))
    return Reply(Text(write_calendar(feed, feeds.leases_of(call.service, feed)), CALENDAR_TYPE), _PRIVATE)


_FEED = Noun("feed_id", "feed", feeds.FEEDS.get)
_ALL, _ONE = "/v1/feeds", "/v1/feeds/{feed_id}"

GET = Rule(
    "leasehold:feeds:get",
    READER_OR_ADMIN,
    "Show the calendar feeds of a project without their addresses; only administrators list those of all projects.",
)
POST = Rule(
    "leasehold:feeds:post",
    MEMBER_OR_ADMIN,
    "Make a calendar feed of the leases of a project: whoever has its address reads them without a login.",
)
DELETE = Rule(
    "leasehold:feeds:delete",
    MEMBER_OR_ADMIN,
    "Delete a calendar feed of a project; its address answers nobody any more.",
)


ROUTES = (
    V1_3("GET", _ALL, list_feeds, (GET,), None, FeedList, query=EVERY, filters=LISTED.query),
    V1_3("POST", _ALL, create, (POST,), FeedCreation, OneFeed, CREATED),
    V1_3("GET", _ONE, show, (GET,), None, OneFeed, noun=_FEED),
    V1_3("DELETE", _ONE, delete, (GET, DELETE), success=GONE, noun=_FEED),
    # At every microversion: calendar programs ask for none.
    Route("GET", "/v1/feeds/{token}.ics", read, answer=str, media_type=CALENDAR_TYPE, public=True),
)
