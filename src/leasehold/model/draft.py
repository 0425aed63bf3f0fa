"""What a client asks for, after the API has checked names, types and dates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leasehold.model.lease import with_fields
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.heal_policy import chosen
from leasehold.model.terms.lease_type import LeaseType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from leasehold.model.lease import Lease
    from leasehold.model.terms.heal_policy import HealPolicy
    from leasehold.model.terms.notice import Notice


@dataclass(frozen=True, slots=True)
class LeaseDraft:
    """A requested lease. `reservations` are raw objects with a `resource_type`; their plugin reads the rest.

    `events` are those that the client adds, by type, and when each is told; None for one without a date, which is only
    shown (contract http-api §5.3). `before_end` None means the configured time before the end, and `heal_policy` and
    `reminders` None the configured ones; `reminders` are in seconds before the end. `fingerprint` identifies the
    request as received, with "now" unresolved: it shows whether a repeated key comes with the same request. `retries`
    and `retry_pause` None mean the configured ones. `use_disabled` says that the client may have disabled resources.
    `dry_run` says that nothing is to be written, `open_ended` that the lease is to have no end. `hold` makes it an
    offer, which is held for so long. `published_offer` is the published offer of which it claims a part, and `notice`
    what its holder gets before that is taken back. `ready_within` says how much later it may start than is asked for;
    None: this client cannot say so. `purpose` says what it is for.
    """

    name: str
    start: datetime
    end: datetime
    before_end: datetime | None = None
    reservations: tuple[Mapping[str, Any], ...] = ()
    events: tuple[tuple[str, datetime | None], ...] = ()
    fingerprint: str = ""
    heal_policy: HealPolicy | None = None
    reminders: tuple[int, ...] | None = None
    type: LeaseType = LeaseType.SCHEDULED
    retries: int | None = None
    retry_pause: timedelta | None = None
    deadline: datetime | None = None
    use_disabled: bool = False
    dry_run: bool = False
    open_ended: bool = False
    hold: timedelta | None = None
    published_offer: str | None = None
    notice: Notice | None = None
    ready_within: timedelta | None = None
    purpose: str | None = None


_NOT_IN_CLOUD = frozenset({LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT, LeaseStatus.TERMINATED})
"""Statuses of leases of which the cloud has nothing that others could use."""


@dataclass(frozen=True, slots=True)
class LeaseChanges:
    """A requested amendment: None means unchanged. `reservations` are raw objects, each with the `id` it changes.

    `start` and `end` are new dates; `start_by` and `end_by` move those that the lease has, to an earlier time
    if negative. Of each date only one of the two is given. `drops` are the ids of reservations that the lease loses,
    `vacates` the ids of a reservation and of a resource that it loses; `shared_with` are the projects that may use it
    beside its own. `heal_policy` is a word of `HealPolicy` or `default`; `reminders` may be `default` as well. An empty
    `purpose` takes that of the lease away. `use_disabled` is no change, but what the client may have.
    `dry_run` says that nothing is to be written, and `shrinks` that an active reservation may get a smaller amount, if
    what it loses is unused. `open_ended` says that its end is to be that of a lease without one.
    """

    name: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    start_by: timedelta | None = None
    end_by: timedelta | None = None
    before_end: datetime | None = None
    reservations: tuple[Mapping[str, Any], ...] | None = None
    heal_policy: str | None = None
    reminders: tuple[int, ...] | str | None = None
    drops: frozenset[str] = frozenset()
    vacates: tuple[str, str] | None = None
    shared_with: tuple[str, ...] | None = None
    purpose: str | None = None
    use_disabled: bool = field(default=False, compare=False)
    dry_run: bool = field(default=False, compare=False)
    shrinks: bool = field(default=False, compare=False)
    open_ended: bool = field(default=False, compare=False)

    @property
    def is_relative(self) -> bool:
        """Say whether the amendment moves a date from where it is."""
        return self.start_by is not None or self.end_by is not None

    @property
    def changes_parts(self) -> bool:
        """Say whether the amendment asks for something else of a reservation."""
        return self.reservations is not None or bool(self.drops) or self.vacates is not None

    @property
    def nothing(self) -> bool:
        """Say whether the amendment asks for no change at all."""
        return self == LeaseChanges()

    @property
    def moves_nothing(self) -> bool:
        """Say whether the amendment changes nothing that allocations depend on."""
        return self == LeaseChanges(
            name=self.name,
            heal_policy=self.heal_policy,
            reminders=self.reminders,
            shared_with=self.shared_with,
            purpose=self.purpose,
        )

    def described(self, lease: Lease) -> Lease:
        """Return the lease with the changes on which no allocation depends: its name, its purpose and the like."""
        policy = lease.heal_policy if self.heal_policy is None else chosen(self.heal_policy)
        reminders = lease.reminders
        if self.reminders is not None:
            reminders = None if isinstance(self.reminders, str) else self.reminders
        purpose = lease.purpose if self.purpose is None else self.purpose or None
        name = self.name or lease.name
        after = with_fields(lease, name=name, purpose=purpose, heal_policy=policy, reminders=reminders)
        if self.shared_with is None:
            return after
        in_cloud = lease.status not in _NOT_IN_CLOUD
        parts = (part.shared(self.shared_with, in_cloud=in_cloud) for part in after.reservations)
        return replace(after, reservations=tuple(parts))


@dataclass(frozen=True, slots=True)
class Once:
    """A request that is carried out once, however often it is sent: its project, its key and a digest of it."""

    project_id: str
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class SwapWish:
    """Which resource of a lease to swap for another one: that on which `server` is, or the one named `resource`.

    Exactly one of the two is given; `resource` is the id or the reference. `servers` are the ids of the servers that
    are on it, as the client knows them.
    """

    server: str | None = None
    resource: str | None = None
    servers: frozenset[str] = frozenset()
