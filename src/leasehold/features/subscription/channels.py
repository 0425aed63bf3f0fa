"""The table of the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.subscription.email import Email
from leasehold.features.subscription.model import ChannelName
from leasehold.features.subscription.webhook import Webhooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.features.subscription.channel import Channel

CHANNELS: Mapping[ChannelName, Channel] = {ChannelName.WEBHOOK: Webhooks(), ChannelName.EMAIL: Email()}
