"""Formats of subscriptions, from 1.2 on."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.features.subscription.model import SUBSCRIBABLE, ChannelName
from leasehold.features.subscription.webhook import LONGEST_URL
from leasehold.model.event_log import EVENT_TYPES

LONGEST_CURSOR = 40
LONGEST_ID = 36
_CHANNELS = [each.value for each in SUBSCRIBABLE]
_TYPES = sorted(EVENT_TYPES)


def _event_type(word: str) -> str:
    if word not in EVENT_TYPES:
        message = f"it has to be one of {', '.join(_TYPES)}"
        raise ValueError(message)
    return word


EventTypeWord = Annotated[
    str,
    AfterValidator(_event_type),
    WithJsonSchema({"type": "string", "enum": _TYPES}),
]
ChannelWord = Annotated[str, AfterValidator(one_of(_CHANNELS)), WithJsonSchema({"type": "string", "enum": _CHANNELS})]


class SubscriptionCreation(RequestModel):
    """The body of POST /v1/subscriptions: where to send which events; without filters all events of the project."""

    target: Annotated[str, Field(min_length=1, max_length=LONGEST_URL)]
    channel: ChannelWord = ChannelName.WEBHOOK.value
    event_types: Annotated[list[EventTypeWord], Field(max_length=len(_TYPES), default_factory=list)]
    lease_id: Annotated[str, Field(min_length=1, max_length=LONGEST_ID)] | None = None
    all_projects: bool = False
    own: bool = False


class Replay(RequestModel):
    """The body of POST /v1/subscriptions/{id}/replay; without an event it goes on where it stopped."""

    event_id: Annotated[str, Field(max_length=LONGEST_CURSOR)] | None = None


class SubscriptionAnswer(TypedDict):
    """A subscription; `secret` is there once, in the answer that made it."""

    id: str
    project_id: str
    user_id: str
    channel: str
    target: str
    event_types: list[str]
    lease_id: str | None
    all_projects: bool
    own: bool
    status: str
    position: int
    failures: int
    failing_since: str | None
    next_try: str | None
    last_error: str | None
    created_at: str
    secret: NotRequired[str]


OneSubscription = answer("OneSubscription", "The answer about one subscription.", subscription=SubscriptionAnswer)
SubscriptionList = answer("SubscriptionList", "The answer about subscriptions.", subscriptions=list[SubscriptionAnswer])


class DeadLetterAnswer(TypedDict):
    """An event that the receiver refused; `id` is its id in the event log."""

    id: str
    position: int
    type: str
    lease_id: str | None
    died_at: str
    error: str


DeadLetterList = answer(
    "DeadLetterList", "The answer about dead letters, in the order of the log.", dead_letters=list[DeadLetterAnswer]
)
