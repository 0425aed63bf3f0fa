"""The hosts at one moment: how many are used, promised, out of service, asleep and free; averaged over hours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, bindparam, func, or_, select

from leasehold.cloud.sandbox.tables import hypervisors, servers
from leasehold.db.leases.closures import maintenance_reservations
from leasehold.db.tables import allocations, leases, resources
from leasehold.features.filler.store import filled_hosts
from leasehold.model.membership import Membership
from leasehold.model.resource import HOST, Health
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.simulation.people import People
    from bench.simulation.site import Site

USED, IDLE, OUT, SHARED = "used", "promised, not used", "out of service", "shared"
FILLED, TURNING = "used by fillers", "on their way to or from fillers"
GUESTS, ASLEEP, FREE = "with preemptible servers only", "asleep", "free"
WAITING: Final = "leases that wait"
STATES: Final = (USED, FILLED, IDLE, OUT, SHARED, TURNING, GUESTS, ASLEEP, FREE)
"""Each host is in one of these."""
SAMPLES: Final = 6
"""In each hour."""
_NOW: Final = bindparam("now", type_=BigInteger)
_PROMISED = (
    select(resources.c.reference, allocations.c.reservation_id, allocations.c.lease_id)
    .join(allocations, allocations.c.resource_number == resources.c.number)
    .where(
        resources.c.type == HOST,
        allocations.c.starts_at <= _NOW,
        allocations.c.ends_at > _NOW,
        allocations.c.released_at.is_(None),
        allocations.c.left_at.is_(None),
    )
)
_OUT = (
    select(resources.c.reference)
    .join(hypervisors, hypervisors.c.hypervisor_hostname == resources.c.reference)
    .where(resources.c.type == HOST, or_(hypervisors.c.up.is_(False), resources.c.disabled.is_(True)))
)
_SHARED = select(resources.c.reference).where(
    resources.c.type == HOST, resources.c.membership != Membership.RESERVATION.value
)
_ASLEEP = select(resources.c.reference).where(resources.c.type == HOST, resources.c.health == Health.ASLEEP.value)
_FILLED = (
    select(resources.c.reference, filled_hosts.c.leaves_at)
    .join(filled_hosts, filled_hosts.c.resource_number == resources.c.number)
    .where(filled_hosts.c.ended_at.is_(None))
)
_WITH_SERVERS = (
    select(hypervisors.c.hypervisor_hostname)
    .join(servers, servers.c.service_host == hypervisors.c.service_host)
    .where(or_(servers.c.gone_at.is_(None), servers.c.gone_at > bindparam("moment")))
    .distinct()
)
_WAITING = select(func.count()).select_from(leases).where(leases.c.waiting_since.is_not(None))


@dataclass
class Utilisation:
    """Samples of a site, `SAMPLES` in an hour, each with the number of hosts in each state and of leases that wait.

    A host is used as long as somebody works on it; it stays promised until the lease ends or is given back. A filler
    uses its host while it has a server there, up to the end of that of which it was told. Hosts on
    their way between the pools count as shared, those that fall asleep or wake up as asleep.
    """

    site: Site
    people: People
    samples: list[Mapping[str, float]] = field(default_factory=list)

    def sample(self) -> None:
        """Look at the hosts now."""
        with self.site.world.service.db.reading() as connection:
            operators = maintenance_reservations(connection)
            promised = connection.execute(_PROMISED, {"now": to_seconds(self.site.now())}).all()
            out = set(connection.execute(_OUT).scalars())
            shared = set(connection.execute(_SHARED).scalars())
            asleep = set(connection.execute(_ASLEEP).scalars())
            guests = set(connection.execute(_WITH_SERVERS, {"moment": self.site.now()}).scalars())
            filled = {row.reference: row.leaves_at for row in connection.execute(_FILLED)}
            waiting = connection.execute(_WAITING).scalar_one()
        out |= {row.reference for row in promised if row.reservation_id in operators}
        now, busy = self.site.now(), self.people.busy
        used = {row.reference for row in promised if row.lease_id in busy and now < busy[row.lease_id]} - out
        idle = {row.reference for row in promised} - out - used
        shared -= out
        turning = filled.keys() - out - used - idle - shared
        worked = {each for each in turning & guests if filled[each] is None or now < filled[each]}
        turning -= worked
        asleep -= out | used | idle | shared | turning | worked
        guests -= out | used | idle | shared | turning | worked | asleep
        counted = {USED: used, FILLED: worked, IDLE: idle, OUT: out, SHARED: shared}
        counted |= {TURNING: turning, GUESTS: guests, ASLEEP: asleep}
        sizes = {state: len(hosts) for state, hosts in counted.items()}
        free = len(self.site.hosts) - sum(sizes.values())
        self.samples.append({**sizes, FREE: free, WAITING: waiting})

    def hourly(self, state: str) -> list[float]:
        """Return the mean of each hour."""
        values = [each[state] for each in self.samples]
        hours = [values[first : first + SAMPLES] for first in range(0, len(values), SAMPLES)]
        return [sum(hour) / len(hour) for hour in hours]

    def mean(self, state: str) -> float:
        """Return the mean of all samples, as a share of the hosts."""
        return sum(each[state] for each in self.samples) / len(self.samples) / len(self.site.hosts)

    @property
    def days(self) -> float:
        """Return how many days the samples are of."""
        return len(self.samples) / SAMPLES / 24

    def hours(self, state: str) -> float:
        """Return the host hours of all samples."""
        return sum(each[state] for each in self.samples) / SAMPLES
