"""The table of the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.subscription.email import Email
from leasehold.features.subscription.model import Channel as Name
from leasehold.features.subscription.webhook import Webhooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.features.subscription.channel import Channel

CHANNELS: Mapping[Name, Channel] = {Name.WEBHOOK: Webhooks(), Name.EMAIL: Email()}
