"""Usage for Prometheus: how much each project had on the average of an hour, without ids of leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Gauge

from leasehold.features.usage.model import Loss
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.sums import Asked, Group, held, losses, sums, sums_by_state, used
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from leasehold.features.usage.sums import Key
    from leasehold.leasing.service import Service

HOUR: Final = 3_600
USUAL: Final = 300.0
"""Seconds between two looks where nobody polls."""
AMOUNTS = Gauge(
    "leasehold_usage_amount",
    "Hosts, instances or addresses that a project had on the average of an hour, the last one that is fully known: "
    "`held`, and of these `late` and `used`; `missing` and `given_up` beside them.",
    ["project_id", "resource_type", "state"],
)


class UsageGauges:
    """Shows usage by project and resource type; what a project does not have any more is not shown as before."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shown: set[tuple[str, str, str]] = set()

    @property
    def every(self) -> float:
        """After how many seconds there is something new."""
        return self._service.settings.of(UsageSettings).poll_seconds or USUAL

    def run(self) -> None:
        """Sum the hour that ended one poll ago, because what was used is known up to the last poll."""
        now = to_seconds(self._service.now())
        end = now - int(self.every)
        with self._service.db.reading() as connection:
            found = read_amounts(connection, Asked(end - HOUR, end, now, Group.PROJECT))
        for labels, amount in found.items():
            AMOUNTS.labels(*labels).set(amount)
        for labels in self._shown - found.keys():
            AMOUNTS.remove(*labels)
        self._shown = set(found)


def read_amounts(connection: Connection, asked: Asked) -> Mapping[tuple[str, str, str], float]:
    """Return the average amounts of a window, by project, resource type and state; nothing where there was none."""
    by_state: dict[str, Mapping[Key, int]] = {
        "held": sums(connection, held(asked), asked),
        "used": sums(connection, used(asked), asked),
        **{state.value: lost for state, lost in sums_by_state(connection, losses(asked, *Loss), asked).items()},
    }
    length = asked.end - asked.start
    return {(*key, state): seconds / length for state, some in by_state.items() for key, seconds in some.items()}
