"""Subscriptions: events are sent to webhooks and as e-mails (feature D5, decision 0040)."""

from leasehold.features.feature import Feature
from leasehold.features.subscription.options import OPTIONS
from leasehold.features.subscription.settings import DeliverySettings

FEATURE = Feature(
    "subscription",
    "Subscriptions to the event log",
    OPTIONS,
    api=True,
    job=True,
    words=True,
    connections=lambda settings: settings.of(DeliverySettings).threads,
)
