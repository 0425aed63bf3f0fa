"""Which hosts are used, as far as only the cloud says it: preemptible servers, and volumes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.cloud.deadline import deadline
from leasehold.cloud.ports import CloudError
from leasehold.model.windows import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.use import Host

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=1)
"""How often to look at a host of which only the cloud says whether it is used."""
PATIENCE = 10.0
"""For so many seconds a round looks at those; the others are next. Meanwhile no host wakes up that leases wait for."""


@dataclass(slots=True)
class Looks:
    """What one manager has seen; `used_at` is when hosts that nothing is promised on were seen used last.

    `in_use` says which hosts that no lease can have are used; one that sleeps and is used all the same wakes up.
    """

    cloud: Cloud
    used_at: dict[int, datetime] = field(default_factory=dict)
    in_use: dict[int, bool] = field(default_factory=dict)
    _at: dict[int, datetime] = field(default_factory=dict)
    _not_before: datetime = EPOCH

    def look(self, hosts: Mapping[int, Host], now: datetime) -> None:
        """Look at the hosts that no lease can have, each once a minute; what is not told stays as it was."""
        stale = [
            number
            for number, host in hosts.items()
            if not host.type_.kind.leased and now - self._at.get(number, EPOCH) >= EVERY
        ]
        if now < self._not_before:
            return
        try:
            with deadline(PATIENCE):
                for number in sorted(stale, key=lambda each: self._at.get(each, EPOCH)):
                    self.in_use[number] = self._ask(hosts[number], now)
                    self._at[number] = now
        except CloudError as error:
            log.warning("Which hosts are used is not known yet: %s", error)
            self._not_before = now + EVERY

    def is_used(self, host: Host, now: datetime) -> bool:
        """Say whether something is on a host, so that hosts with preemptible servers are not closed for nothing."""
        try:
            return self._ask(host, now)
        except CloudError as error:
            log.warning("Whether %s is used is not known: %s", host.resource.label, error)
            return True

    def _ask(self, host: Host, now: datetime) -> bool:
        used = host.driver.is_used(self.cloud, host.resource.attributes)
        if used:
            self.used_at[host.number] = now
        return used
