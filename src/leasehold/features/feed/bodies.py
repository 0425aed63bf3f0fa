"""Formats of calendar feeds, from 1.3 on."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time


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
