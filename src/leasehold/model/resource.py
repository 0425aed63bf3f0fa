"""Resources: what can be leased."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.model.caller import Caller

HOST = "physical:host"
MAINTENANCE = "maintenance:host"
"""The type of the reservations that maintenance windows consist of (decision 0044)."""
FLOATING_IP = "virtual:floatingip"
STORAGE = "storage:host"
HOST_POOL = "hosts"
"""Reservations of hosts, instances and flavors share this pool, because they use the same hosts (design §4)."""
FLOATING_IP_POOL = "floatingips"


ALWAYS_KNOWN = frozenset({"id", "reservable"})
"""What expressions can name of every resource, besides its attributes and properties."""


class Health(StrEnum):
    """Whether a resource can be used (contract resources §7); only a healthy one gets new allocations."""

    HEALTHY = "healthy"
    DISABLED = "disabled"
    """Up, but in maintenance: its allocations stay, and leases on it begin and end as usual."""
    DOWN = "down"
    """Down, for less than the grace period."""
    FAILED = "failed"
    """Down for at least the grace period: other hosts replace it in its allocations."""
    ASLEEP = "asleep"
    """Off on purpose: it keeps what is promised on it, and gets new allocations that it is ready for."""
    PLANNED = "planned"
    """The cloud does not have it yet: it is expected, and gets allocations from then on (decision 0146)."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """How soon a resource is ready that is not: it `takes` so long from `begun` on, None: from when it is needed.

    It is asleep, or in use for as long as nothing is promised on it. One that is planned is expected at `begun`, and
    takes no time.
    """

    takes: timedelta
    begun: datetime | None = None

    def ready_at(self, now: datetime) -> datetime:
        """Return from when on an allocation may use it that is decided now: never now, as long as it is not ready."""
        begun = now if self.begun is None else self.begun
        return max(begun + self.takes, now + timedelta(seconds=1))


@dataclass(frozen=True, slots=True)
class Disabling:
    """What an administrator says about a resource: whether it is disabled, why, and who says so.

    `reason` None keeps the reason that it has, and "" removes it; a resource that is not disabled has none.
    """

    disabled: bool
    reason: str | None
    by: Caller

    def applied(self, resource: Resource) -> Resource:
        """Return the resource after it."""
        reason = resource.disabled_reason if self.reason is None else self.reason
        return replace(resource, disabled=self.disabled, disabled_reason=(reason or None) if self.disabled else None)


NOT_SAID: Final[frozenset[str]] = frozenset()
"""No projects: a restriction that says nothing about them."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """What an administrator says about who may use a resource: these `projects` alone, or None: everybody.

    `owner` is the project that it belongs to, None: nobody. `projects` NOT_SAID and `owner` "" stay as they are.
    """

    projects: frozenset[str] | None = NOT_SAID
    owner: str | None = ""

    def applied(self, resource: Resource) -> Resource:
        """Return the resource after it."""
        projects, owner = self._after(resource.projects, resource.owner)
        return replace(resource, projects=projects, owner=owner)

    def columns(self, resource: Resource | None = None) -> dict[str, Any]:
        """Return these columns of a resource after it; None: of a new one."""
        before = (None, None) if resource is None else (resource.projects, resource.owner)
        projects, owner = self._after(*before)
        return {"projects": None if projects is None else sorted(projects), "owner": owner}

    def _after(self, projects: frozenset[str] | None, before: str | None) -> tuple[frozenset[str] | None, str | None]:
        """Return the projects and the owner: it is always one of them, and a former one only if that is said."""
        owner = before if self.owner == "" else self.owner
        said = (projects or NOT_SAID) - {before} if self.projects == NOT_SAID else self.projects
        allowed = (said or NOT_SAID) | ({owner} if owner else NOT_SAID)
        return allowed or None, owner


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that can be leased, such as a host or a floating IP.

    `number` is the database's own key and never reused; `id` is what the API shows (for hosts Nova's hypervisor id).
    `reference` is the name in the cloud, unique among the enrolled resources of a type.
    `capacity` maps resource classes (VCPU, MEMORY_MB, DISK_GB, PCPU, CUSTOM_*) to what Placement would admit,
    `(total - reserved) * allocation_ratio`; `max_unit` to the largest amount of one instance, where limited.
    `attributes` are the discovered values (vcpus, subnet_id, ...), `properties` the operator's own keys.
    `down_since` is when a host that is down was first seen so. `changed_at` is when the cloud was found to say
    something else of it than before; None once every allocation on it fits that.
    `admitted` is what the health check says: it works, and what it had lost it has back. `disabled` is what an
    administrator says, with a `disabled_reason`; neither ever changes the other (decision 0052).
    `membership` is the pool that it is in or moves to, `membership_since` since when; None means since its enrolment.
    `membership_reason` is why the last draw failed; None if none has failed since. `held_for` is the best-effort lease
    that it is held for: no other lease may be promised it (decision 0060). `projects` are those that may use it, None
    for all: nobody else is promised it, or told of it (decision 0077). `owner` is the one of them that it belongs to
    (decision 0108). `region` is the region of this service. `readiness` is how soon it is ready, None if it is: one
    that is asleep or planned is not, nor one that the pool's promises have to wait for.
    """

    number: int
    id: str
    type: str
    pool: str
    capacity: Mapping[str, int]
    max_unit: Mapping[str, int]
    attributes: Mapping[str, Any]
    properties: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    traits: frozenset[str] = frozenset()
    admitted: bool = True
    health: Health = Health.HEALTHY
    down_since: datetime | None = None
    changed_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    disabled: bool = False
    disabled_reason: str | None = None
    membership: Membership = Membership.RESERVATION
    membership_since: datetime | None = None
    membership_reason: str | None = None
    held_for: str | None = None
    projects: frozenset[str] | None = None
    owner: str | None = None
    region: str | None = None
    readiness: Readiness | None = None

    @property
    def reservable(self) -> bool:
        """Say whether users may be promised it, as v1 shows it: it works, is not shared and not disabled."""
        return self.admitted and self.membership is Membership.RESERVATION and not self.disabled

    @property
    def pooled(self) -> bool:
        """Say whether it is enrolled and in the reservation pool: no other is ever promised (decision 0056)."""
        return self.deleted_at is None and self.membership is Membership.RESERVATION

    @property
    def usable(self) -> bool:
        """Say whether an allocation may use it that may use disabled resources: it works and is pooled."""
        return self.admitted and self.pooled

    @property
    def bookable(self) -> bool:
        """Say whether any new allocation may use it: it works, is pooled and for all, and neither disabled nor held."""
        return self.usable and not self.disabled and self.held_for is None and self.projects is None

    def open_to(self, project_id: str) -> bool:
        """Say whether a project may use it."""
        return self.projects is None or project_id in self.projects

    @property
    def expected_at(self) -> datetime | None:
        """When the cloud is expected to have it; None: it has it."""
        return self.readiness.begun if self.readiness is not None and self.health is Health.PLANNED else None

    @property
    def label(self) -> str:
        """The name that a person knows this resource by: the last part of its reference, a hostname or an address."""
        return self.reference.rpartition("/")[2] or self.id

    @property
    def values(self) -> dict[str, Any]:
        """What property expressions can name: the operator's keys and the discovered columns, which take precedence.

        A `region` among the operator's keys comes before that of the service.
        """
        region = {} if self.region is None else {"region": self.region}
        return {**region, **self.properties, **self.attributes, "id": self.id, "reservable": self.reservable}
