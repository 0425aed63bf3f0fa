"""Subscriptions (feature D5, decision 0040): who is sent which events of the log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.paging import LONGEST_PAGE, ListKeys
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_2, Noun
from leasehold.api.views.shown import shown
from leasehold.features.subscription import use as subscriptions
from leasehold.features.subscription.bodies import (
    DeadLetterAnswer,
    DeadLetterList,
    OneSubscription,
    Replay,
    SubscriptionAnswer,
    SubscriptionCreation,
    SubscriptionList,
)
from leasehold.features.subscription.model import ChannelName
from leasehold.model.event_log import BEGINNING, read_cursor, read_event_id

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.subscription.model import Subscription

LISTED = ListKeys(
    texts=("channel", "target", "status", "lease_id"),
    switches=("own",),
    sorts=("created_at", "channel", "target", "status", "position"),
)
PAGE = 100


def list_subscriptions(call: Call) -> Reply:
    """Show the subscriptions of the caller's project; an administrator may ask for those of `all_projects`.

    From 1.3 on in pages, by channel, target, status and lease, and sorted.
    """
    project, part = call.listed_project(), LISTED.asked(call)
    if not call.is_admin:
        part = replace(part, wanted={**part.wanted, "all_projects": [False]})
    found = subscriptions.list_subscriptions(call.service, project, part)
    return Reply({"subscriptions": list(map(show_subscription, found))})


def create(call: Call, body: SubscriptionCreation) -> Reply:
    """Have the events of the caller's project sent to a webhook or an address, from now on.

    The answer is the only one with the secret that signs what a webhook gets. An administrator may subscribe to the
    events of `all_projects`, those of resources among them. With `own` only the caller's leases and alarms are told of.
    """
    if body.all_projects:
        call.require_admin("Only administrators subscribe to the events of all projects; leave all_projects out.")
    made = subscriptions.subscribe(
        call.service,
        call.caller,
        ChannelName(body.channel),
        body.target,
        event_types=body.event_types,
        lease_id=body.lease_id,
        all_projects=body.all_projects,
        own=body.own,
    )
    return Reply({"subscription": show_new(made)})


def show(call: Call, subscription: Subscription) -> Reply:
    """Show one subscription, how far it has come, and why its last delivery failed."""
    return Reply({"subscription": show_subscription(_allowed(call, subscription))})


def delete(call: Call, subscription: Subscription) -> Reply:
    """Delete a subscription with its dead letters; a delivery that has begun may still arrive."""
    subscriptions.unsubscribe(call.service, _allowed(call, subscription).id)
    return Reply()


def list_dead_letters(call: Call, subscription: Subscription) -> Reply:
    """Show the events that the receiver refused, in the order of the log; `after` is the `id` of the last one seen."""
    text = call.query("after")
    after = BEGINNING if text is None else read_cursor(text)
    limit = call.query_number("limit", 1, LONGEST_PAGE) or PAGE
    found = subscriptions.list_dead_letters(call.service, _allowed(call, subscription).id, after, limit)
    letters = [shown(DeadLetterAnswer, each, id=each.event_id, type=each.event_type) for each in found]
    return Reply({"dead_letters": letters})


def replay(call: Call, subscription: Subscription, body: Replay) -> Reply:
    """Send an event and all that follow it again, with the same ids; without one, go on where deliveries stopped."""
    event = None if body.event_id is None else read_event_id(body.event_id, "event_id")
    found = subscriptions.replay(call.service, _allowed(call, subscription).id, event)
    return Reply({"subscription": show_subscription(found)})


def _allowed(call: Call, subscription: Subscription) -> Subscription:
    """Return the subscription, unless it tells of all projects and the caller is a member of the owner's project."""
    if subscription.all_projects:
        call.require_admin("Only administrators use a subscription to all projects. Make one of your own.")
    return subscription


def show_subscription(found: Subscription) -> SubscriptionAnswer:
    """Return a subscription without its secret; times are in ISO 8601 with the zone."""
    return shown(SubscriptionAnswer, found, next_try=found.due_at)


def show_new(made: Subscription) -> SubscriptionAnswer:
    """Return a subscription that was made just now, with its secret if its channel has one."""
    shown = show_subscription(made)
    return {**shown, "secret": made.secret} if made.secret else shown


_NOUN = Noun("subscription_id", "subscription", subscriptions.get_subscription)
_ALL, _ONE = "/v1/subscriptions", "/v1/subscriptions/{subscription_id}"

GET = Rule(
    "leasehold:subscriptions:get",
    READER_OR_ADMIN,
    "Show the subscriptions of a project and their dead letters; only administrators see those of all projects.",
)
POST = Rule(
    "leasehold:subscriptions:post",
    MEMBER_OR_ADMIN,
    "Subscribe to the events of a project; only administrators subscribe to those of all projects.",
)
DELETE = Rule(
    "leasehold:subscriptions:delete",
    MEMBER_OR_ADMIN,
    "Delete a subscription of a project; only administrators delete those of all projects.",
)
REPLAY = Rule(
    "leasehold:subscriptions:replay",
    MEMBER_OR_ADMIN,
    "Send events of a subscription again, or go on with one that is suspended.",
)


_DEAD, _READING = f"{_ONE}/dead-letters", ("after", "limit")
ROUTES = (
    V1_2("GET", _ALL, list_subscriptions, (GET,), None, SubscriptionList, query=EVERY, filters=LISTED.query),
    V1_2("POST", _ALL, create, (POST,), SubscriptionCreation, OneSubscription, CREATED),
    V1_2("GET", _ONE, show, (GET,), None, OneSubscription, noun=_NOUN),
    V1_2("DELETE", _ONE, delete, (DELETE,), success=GONE, noun=_NOUN),
    V1_2("GET", _DEAD, list_dead_letters, (GET,), None, DeadLetterList, query=_READING, noun=_NOUN),
    V1_2("POST", f"{_ONE}/replay", replay, (REPLAY,), Replay, OneSubscription, noun=_NOUN),
)
