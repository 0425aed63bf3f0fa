"""Requests that sleeping hosts delay: each process counts them, and adds them to the database after some seconds."""

from __future__ import annotations

import atexit
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, update

from leasehold.db.resources.resource import resources_by_number
from leasehold.features.power.metrics import DELAYED, UNCOUNTED
from leasehold.features.power.model import zone_of
from leasehold.features.power.store import delays, read_machines
from leasehold.leasing.tally import Tally
from leasehold.model.resource import Health

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.model.delay import Delay


class _Key(NamedTuple):
    """What is counted of delays on a day: `requests`, or the `seconds` of those that are known."""

    day: datetime
    resources: tuple[int, ...]
    what: str


class DelayCounts(Tally[_Key]):
    """The delays that this process has heard of."""

    def __init__(self, db: Database, pause: float | None = None) -> None:
        """Keep counts for `pause` seconds, or until they are read."""
        super().__init__(db, add_delays, UNCOUNTED.inc, pause)
        if pause is not None:
            atexit.register(self.write)

    def note(self, now: datetime, delay: Delay) -> None:
        """Count a request that these hosts delay."""
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        numbers = tuple(sorted(delay.resources))
        seconds = 0 if delay.later is None else int(delay.later.total_seconds())
        self.count({_Key(day, numbers, "requests"): 1, _Key(day, numbers, "seconds"): seconds})


def add_delays(connection: Connection, counts: Mapping[_Key, int]) -> None:
    """Add counts by day, class and zone: a request counts in each in which it would have had a sleeping host.

    Those that wait for something else than for hosts that sleep are left out.
    Raises IntegrityError when another process writes a new row at the same moment.
    """
    machines = read_machines(connection)
    hosts = resources_by_number(connection, {number for key in counts for number in key.resources})
    found: dict[tuple[datetime, str, str], Counter[str]] = {}
    for key, number in counts.items():
        asleep = [each for each in key.resources if each in hosts and hosts[each].health is Health.ASLEEP]
        for part in {(machines[each].power_class, zone_of(hosts[each])) for each in asleep if each in machines}:
            found.setdefault((key.day, *part), Counter())[key.what] += number
        if asleep and key.what == "requests":
            DELAYED.inc(number)
    # In one order, so that two processes do not wait for each other.
    for (day, power_class, zone), more in sorted(found.items()):
        same = {"day": day, "power_class": power_class, "zone": zone}
        requests, seconds = more["requests"], more["seconds"]
        query = update(delays).where(*(delays.c[name] == value for name, value in same.items()))
        query = query.values(requests=delays.c.requests + requests, seconds=delays.c.seconds + seconds)
        if not connection.execute(query).rowcount:
            connection.execute(insert(delays), {**same, "requests": requests, "seconds": seconds})
