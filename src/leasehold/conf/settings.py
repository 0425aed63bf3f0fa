"""The settings that the rest of the service reads: frozen values, independent of their source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.model.terms.end_action import usual_waits
from leasehold.model.terms.heal_policy import HealPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.placing.pool_size import Size


Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """The limits of the enforcement filters, None for no limit. `amounts` are by resource type, over a whole lease.

    Those of a user hold in each project of theirs; host hours are those ahead.

    `open_leases_by_project` takes precedence over `open_leases`; `totals` are what a project may have at one moment. No
    limit applies to a project in `exempt_projects`, except that of `offers`, of which 0 means that there are none.
    """

    open_leases: int | None = 1_000
    open_leases_by_project: Mapping[str, int | None] = field(default_factory=dict)
    totals: Mapping[str, int] = field(
        default_factory=lambda: {"hosts": 1_000, "vcpus": 100_000, "memory_mb": 400_000_000, "floating_ips": 1_000}
    )
    start_lookahead: timedelta | None = None
    end_lookahead: timedelta | None = None
    reservations: int | None = 20
    amounts: Mapping[str, int] = field(default_factory=dict)
    exempt_projects: frozenset[str] = frozenset()
    user_open_leases: int | None = None
    user_hosts: int | None = None
    user_host_hours: int | None = None
    project_host_hours: int | None = None
    offers: int = 5


@dataclass(frozen=True, slots=True)
class ExternalSettings:
    """The service that ExternalServiceFilter asks, by Blazar's protocol (contract lifecycle §10.2).

    The URL of a call is its own one, else one below `base`. A call may take `seconds`. `allows_on_failure` says whether
    a request is granted about which the service gives no decision. `cafile` names the certificates to trust. `auth_url`
    and `region` are what the service is told about the cloud.
    """

    base: str | None = None
    check_create: str | None = None
    check_update: str | None = None
    on_end: str | None = None
    token: str = field(default="", repr=False)
    seconds: float = 10.0
    allows_on_failure: bool = False
    cafile: str | None = None
    auth_url: str | None = None
    region: str | None = None

    @property
    def named(self) -> bool:
        """Whether any URL is configured."""
        return any((self.base, self.check_create, self.check_update, self.on_end))


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The dates and the limits of leases (contract lifecycle §8, §10, §11).

    A decision may take `decision_seconds` while other decisions wait for it. It may use `explanation_seconds` of them
    to find out what could be granted instead of a refused request, and `rebinding_seconds` of them to find other
    resources for leases that have not started; those that begin within `rebind_before_start` keep theirs. Of the
    resources that would do a request gets those that the `weigher` says, or that of its type, and a request that names
    no properties first those that match the expression in `default_properties_by_type`, as JSON text. A lease that
    waits is tried again every `retry_pause`, at most `retries` times. `cleaning_time_by_type` has the types under which
    resources are enrolled; `cleaning_time` is that of the others. The work of a start begins before it by the longest
    of `lead_time_by_type`, in whole minutes, that the lease's types have.
    After its end, a request may let servers live on for a `longest_grace` and then, if they are recycled, for
    `longest_recycling`. A request that does not say it releases what it does not use `no_show` after its start, 0 means
    never; it may ask for `shortest_no_show` or more. A lease without an end counts as one of `open_ended`; 0 means that
    there are none. With `purpose_required` whoever asks for a lease has to say what it is for.
    """

    cleaning_time: timedelta = timedelta(0)
    cleaning_time_by_type: Mapping[str, timedelta] = field(default_factory=dict)
    lead_time_by_type: Mapping[str, timedelta] = field(default_factory=dict)
    before_end: timedelta = timedelta(minutes=60)
    retries: int = 12
    retry_pause: timedelta = timedelta(minutes=5)
    waiting_order: str = "longest_waiting"
    weigher: str = "first_fit"
    weigher_by_type: Mapping[str, str] = field(default_factory=dict)
    default_properties_by_type: Mapping[str, str] = field(default_factory=dict)
    heal_policy: HealPolicy = HealPolicy.REPLACE
    max_duration: timedelta | None = None
    max_duration_exempt_projects: frozenset[str] = frozenset()
    enforcement_filters: tuple[str, ...] = ()
    decision_seconds: float = 2.0
    explanation_seconds: float = 0.1
    rebinding_seconds: float = 0.1
    rebind_before_start: timedelta = timedelta(minutes=5)
    limits: LimitSettings = field(default_factory=LimitSettings)
    external: ExternalSettings = field(default_factory=ExternalSettings)
    longest_grace: timedelta = timedelta(days=1)
    longest_recycling: timedelta = timedelta(days=7)
    no_show: timedelta = timedelta(0)
    shortest_no_show: timedelta = timedelta(minutes=5)
    open_ended: timedelta = timedelta(0)
    purpose_required: bool = False


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The cloud, and the names shared with it and its scheduler filter (contract resources §0.3)."""

    driver: str = "sandbox"
    freepool: str = "freepool"
    zone_prefix: str = "blazar_"
    owner_key: str = "blazar:owner"
    image_prefix: str = "reserved_"
    default_before_end: str = ""
    end_waits: Mapping[str, timedelta] = field(default_factory=usual_waits)
    draw_limit: timedelta = timedelta(minutes=30)
    zones: bool = True
    expect_preemptibles: bool = True
    displacement_strategy: str = "fewest_servers"


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Where the manager answers Prometheus; port 0 means nowhere."""

    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """How due work is claimed and retried (design §5).

    `warn_before_end` are the reminders of a lease's end, in seconds before it (decision 0043).
    A lease is `stuck` that cannot leave its hosts for so long after its end.
    """

    workers: int = 32
    claim_seconds: float = 30.0
    poll_seconds: float = 1.0
    event_seconds: float = 0.2
    retry_first_seconds: float = 1.0
    retry_most_seconds: float = 60.0
    retry_refused_seconds: float = 300.0
    health_seconds: float = 60.0
    shutdown_seconds: float = 30.0
    healing_interval: timedelta = timedelta(minutes=60)
    failure_grace_seconds: float | None = None
    forgotten_plugins: frozenset[str] = frozenset()
    unpolled: frozenset[str] = frozenset()
    reread_seconds: float = 3600.0
    warn_before_end: tuple[int, ...] = (24 * 3600, 40 * 60, 10 * 60, 2 * 60)
    warn_poll_seconds: float = 5.0
    stuck: timedelta = timedelta(minutes=15)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    pool_seconds: float = 0.0
    pool_sizes: Mapping[str, Size] = field(default_factory=dict)

    @property
    def failure_grace(self) -> timedelta:
        """How long a host is down before it counts as failed; by default two polling intervals."""
        seconds = self.failure_grace_seconds
        return timedelta(seconds=2 * self.health_seconds if seconds is None else seconds)


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """What leasehold-bridge sends to the message bus, and listens to there (decision 0047).

    `pushed` are the resource types that are checked when a notification on one of the `topics` concerns them.
    """

    publisher_id: str = "blazar.lease"
    retry_most_seconds: float = 15.0
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    pushed: frozenset[str] = frozenset()
    topics: tuple[str, ...] = ("notifications", "versioned_notifications")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings that the core reads, and those of each feature, by their class."""

    leases: LeaseSettings = field(default_factory=LeaseSettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    manager: ManagerSettings = field(default_factory=ManagerSettings)
    bridge: BridgeSettings = field(default_factory=BridgeSettings)
    plugins: tuple[str, ...] = ("physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip")
    features: Mapping[type, Any] = field(default_factory=dict)

    def of(self, kind: type[Values]) -> Values:
        """Return the settings of a feature; their defaults if the configuration says nothing about it."""
        found: Values | None = self.features.get(kind)
        return kind() if found is None else found

    def having(self, values: object) -> Settings:
        """Return the settings with these of a feature."""
        return replace(self, features={**self.features, type(values): values})


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Where oslo.policy finds the operator's rules; no file means the defaults alone.

    `new_defaults` False also accepts the deprecated admin-or-owner rules (contract http-api §9).
    """

    file: str | None = None
    directories: tuple[str, ...] = ()
    new_defaults: bool = True


@dataclass(frozen=True, slots=True)
class RateSettings:
    """How many requests of a project, and failed logins from an address, pass each minute; 0 means no limit."""

    requests: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """How the HTTP API listens, authenticates its callers and limits their requests.

    `threads` requests run at the same time, on `one_cpu` or on any, and `waiting` more wait for up to `wait_seconds`.
    `delete_wait_seconds` is how long a delete waits for the servers of the lease to be gone before it answers,
    `event_waits` how many requests wait for events, `cloud_seconds` how long the calls to the cloud of one create or
    amendment may take. `max_body` is in bytes. `allowed_hosts` are the names that the `none` strategy accepts in
    addition to those of the loopback, and `users_file` is the file of the `http_basic` strategy. `trusted_proxies` are
    the addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. `region` is the name of the
    service's own region, and `cafile` names the certificates to trust where other services are asked.
    """

    host: str = "127.0.0.1"
    port: int = 1234
    threads: int = 16
    one_cpu: bool = True
    waiting: int = 64
    wait_seconds: float = 10.0
    shutdown_notice_seconds: float = 0.0
    shutdown_seconds: float = 30.0
    auth_strategy: str = "none"
    allowed_hosts: tuple[str, ...] = ()
    users_file: str = "/etc/leasehold/users"
    delete_wait_seconds: float = 10.0
    event_waits: int = 1000
    cloud_seconds: float = 20.0
    max_body: int = 1024 * 1024
    metrics: bool = False
    rates: RateSettings = field(default_factory=RateSettings)
    trusted_proxies: tuple[str, ...] = ()
    policy: PolicySettings = field(default_factory=PolicySettings)
    region: str = "RegionOne"
    cafile: str | None = None
