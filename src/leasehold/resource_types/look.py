"""One look of the audit at a cloud, and the cloud objects of reservations that drivers find in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.cloud.observing import Observation
    from leasehold.cloud.ports import Cloud
    from leasehold.conf.settings import CloudSettings
    from leasehold.resource_types.records import Records

RESERVATION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Look:
    """What a driver needs to compare a cloud with the database: listings read once, the records, and the settings."""

    observation: Observation
    records: Records
    settings: CloudSettings

    @property
    def cloud(self) -> Cloud:
        """The cloud itself."""
        return self.observation.cloud


@dataclass(frozen=True, slots=True)
class CloudObject:
    """A cloud object of a reservation.

    `sort` and `key` identify it in the cloud; `label` is its name for people where that is not the key.
    """

    sort: str
    key: str
    reservation_id: str
    label: str = ""

    def __str__(self) -> str:
        """Return the sort and the name by which an operator finds it in the cloud."""
        return f"{self.sort} {self.label or self.key}"
