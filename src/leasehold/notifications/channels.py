"""The table of the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.subscription import Channel as Name
from leasehold.notifications.email import Email
from leasehold.notifications.webhook import Webhooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.notifications.channel import Channel

CHANNELS: Mapping[Name, Channel] = {Name.WEBHOOK: Webhooks(), Name.EMAIL: Email()}
