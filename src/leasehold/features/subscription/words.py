"""`before_end: "email"`, a word of Blazar's forks: the owner is told of the warning by e-mail (decision 0118)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.features.subscription.email import read_address
from leasehold.features.subscription.model import ChannelName, SubscriptionStatus
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.features.subscription.store import list_subscriptions
from leasehold.model.errors import InvalidInputError
from leasehold.model.states import EventType
from leasehold.model.terms.end_action import EMAIL, EndAction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.features.subscription.model import Subscription
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

WARNING = "lease.event.before_end_lease"


def read_words(
    service: Service, owner: Caller, raw: Mapping[str, Any], lease: Lease | None = None
) -> Mapping[str, Any]:
    """Return a sent reservation with no end action where it asks for an e-mail, which a subscription sends.

    `lease` is the one that it belongs to, None for a new one. Raises InvalidInputError if no e-mail would reach the
    owner.
    """
    if raw.get("before_end") != EMAIL:
        return raw
    email = service.settings.of(DeliverySettings).email
    if email.host is None or not email.allowed_domains:
        message = f"This service sends no e-mails: leave before_end out, and subscribe to {WARNING} with a webhook."
        raise InvalidInputError(message, field="before_end")
    warned = bool(service.settings.leases.before_end)
    if lease is not None:
        warned = lease.event(EventType.BEFORE_END) is not None and not lease.reached(EventType.BEFORE_END)
    if not warned:
        message = (
            "The lease has no warning that is still to come: leave before_end out, and subscribe to lease.ends_soon by "
            "e-mail."
        )
        raise InvalidInputError(message, field="before_end")

    def reaches(each: Subscription) -> bool:
        return (
            (each.channel, each.user_id) == (ChannelName.EMAIL, owner.user_id)
            and each.status is not SubscriptionStatus.SUSPENDED
            and (not each.event_types or WARNING in each.event_types)
            and each.lease_id in (None, lease and lease.id)
            and read_address(each.target, email) is not None
        )

    with service.db.reading() as connection:
        found = list_subscriptions(connection, owner.project_id)
    if not any(map(reaches, found)):
        message = (
            "No e-mail would reach the owner of the lease, whose address is not known. First subscribe to "
            f"{WARNING} with POST /v1/subscriptions, channel 'email' and your address as the target, or leave "
            "before_end out."
        )
        raise InvalidInputError(message, field="before_end")
    return {**raw, "before_end": EndAction.NOTHING.value}
