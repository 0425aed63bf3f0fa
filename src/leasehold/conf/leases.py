"""Options for the dates and the limits of leases; names and defaults are Blazar's (contract lifecycle §11)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from oslo_config import cfg, types

from leasehold.conf import default_properties, external
from leasehold.conf.errors import unusable
from leasehold.conf.options import MOST, YEAR, read_fields, take_defaults
from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.model.resource import HOST
from leasehold.model.terms.heal_policy import HealPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNLIMITED = -1
MOST_CLEANING = 24 * 60
"""The longest cleaning time, in minutes."""
LEAST_PAUSE = 10
"""The shortest pause, in seconds, between two tries of a lease that waits: each is a decision that others wait for."""

DEFAULT_OPTIONS = [
    cfg.IntOpt(
        "cleaning_time",
        default=0,
        min=0,
        max=MOST_CLEANING,
        help="Minutes kept free before and after every lease when resources are chosen; a day at most.",
    ),
    cfg.ListOpt(
        "cleaning_time_by_type",
        default=[],
        help="The same for the resources of single types, in place of `cleaning_time`: `TYPE=MINUTES`, such as "
        "`physical:host=30, virtual:floatingip=0`. Instances and flavors use hosts, so they have the time of hosts. "
        "It is the same for all APIs and managers.",
    ),
    cfg.ListOpt(
        "lead_time_by_type",
        default=[],
        help="Seconds before the start of a lease at which the work of its start begins, so that it is ready at its "
        "start: `TYPE=SECONDS`, such as `physical:host=600, virtual:floatingip=60`; a type that is not named has 0. "
        "What the lease gets is reserved from then on. Its reservations start together, so the longest time of its "
        "types counts, rounded up to whole minutes. Instances and flavors that are not named have the time of hosts. "
        "It concerns leases that are made from then on, and is the same for all APIs and managers.",
    ),
]

MANAGER_OPTIONS = [
    cfg.IntOpt(
        "minutes_before_end_lease",
        default=60,
        min=0,
        max=YEAR // 60,
        help="Minutes between the before_end_lease event and the end of a lease; a year at most, 0 for no event.",
    ),
    cfg.IntOpt(
        "lease_retries",
        default=LeaseSettings().retries,
        min=1,
        max=10_000,
        help="How often a lease of the type `retry` is tried again; a request may ask for less.",
    ),
    cfg.IntOpt(
        "lease_retry_seconds",
        default=int(LeaseSettings().retry_pause.total_seconds()),
        min=LEAST_PAUSE,
        max=24 * 3600,
        help="Seconds between two tries of a lease that waits for resources; a request may ask for a shorter pause, "
        f"{LEAST_PAUSE} at least. It is also tried when something becomes free.",
    ),
    cfg.StrOpt(
        "waiting_order",
        help="Which of the leases that wait come first: `longest_waiting`; or `fewest_leases`, those of the project "
        "that has the fewest granted leases which are not over; or another entry point in the group "
        "`leasehold.waiting_orders`, of a feature or a plugin. It is the same for all APIs and managers.",
    ),
    cfg.StrOpt(
        "weigher",
        help="Which of the resources that would do a lease gets: `first_fit`, by number; `pack`, those that are idle "
        "for the shortest time around the lease; `spread`, for the longest; `least_used`, those that are reserved the "
        "least; `random`; or an entry point of a plugin in the group `leasehold.weighers`. It is the same for all APIs "
        "and managers.",
    ),
    cfg.Opt(
        "weigher_by_type",
        type=types.List(types.String(regex=r"[^=]+=[^=]+")),
        default=[],
        help="Weighers of single resource types instead of `weigher`, as `virtual:instance=spread,physical:host=pack`.",
    ),
    default_properties.OPTION,
    cfg.IntOpt(
        "longest_grace_seconds",
        min=0,
        max=YEAR,
        help="The longest grace period that a reservation may ask for: seconds after the end of its lease in which no "
        "server is deleted. Its resources are reserved for as long.",
    ),
    cfg.IntOpt(
        "longest_recycle_seconds",
        default=int(LeaseSettings().longest_recycling.total_seconds()),
        min=0,
        max=YEAR,
        help="For how many seconds the servers of a reservation may live on after its grace period if it asks for "
        "`recycle`. Its resources are reserved for as long, and free earlier if the servers are gone. 0 allows no "
        "recycling.",
    ),
    cfg.IntOpt(
        "no_show_seconds",
        min=0,
        max=YEAR,
        help="So many seconds after the start of a lease, its hosts on which it has no server are released, and its "
        "project is warned at half of the time. It is for new reservations that do not say it themselves; 0 means "
        "never.",
    ),
    cfg.IntOpt(
        "shortest_no_show_seconds",
        min=1,
        max=YEAR,
        help="The fewest `no_show_seconds` that a reservation may ask for: servers need time to boot.",
    ),
    cfg.IntOpt(
        "open_ended_seconds",
        min=0,
        max=YEAR,
        help="Leases may be asked for without an end by those whom the policy `leasehold:leases:open_ended` allows. "
        "Limits of durations, of dates and of host hours count such a lease as one that ends so many seconds after its "
        "start, or after the present if it has started. 0: there are no such leases.",
    ),
    cfg.IntOpt(
        "rebind_before_start_seconds",
        min=1,
        max=YEAR,
        help="A lease that begins within this many seconds keeps its resources. One that begins later may get others "
        "of the same kind, so that another request need not be refused (`[enforcement] max_rebinding_seconds`).",
    ),
    cfg.StrOpt(
        "heal_policy",
        choices=[each.value for each in HealPolicy],
        help="What healing does for leases that do not say it themselves: `replace` gives them another resource for a "
        "failed one, `replace-before-start` only until they start, `ask` flags them and asks their owners, `never` "
        "flags them. A resource that works again always goes back to the reservation that misses it.",
    ),
]
LEASES_OPTIONS = [
    cfg.BoolOpt(
        "purpose_required",
        help="Whether leases, offers, claims and series have to say in `purpose` what they are for; those without are "
        "refused, also at microversions before 1.3, which have no purposes. Maintenance windows, fillers and what is "
        "lent without a claim need none. It is the same for all APIs.",
    ),
]
for _options in (MANAGER_OPTIONS, LEASES_OPTIONS):
    take_defaults(_options, LeaseSettings())

AMOUNTS = {
    "physical:host": ("max_hosts_per_lease", "max"),
    "virtual:instance": ("max_instances_per_lease", "amount"),
    "flavor:instance": ("max_flavor_instances_per_lease", "amount"),
    "virtual:floatingip": ("max_floating_ips_per_lease", "amount"),
}
"""For each resource type the option that limits its amount in one lease, and the request's field with the amount."""


TOTALS = {
    "max_hosts_per_project": "hosts",
    "max_vcpus_per_project": "vcpus",
    "max_memory_mb_per_project": "memory_mb",
    "max_floating_ips_per_project": "floating_ips",
}
"""The options that limit what a project has at one moment, and the names of the limited amounts."""
_TOTAL_TEXTS = {
    "hosts": "Whole hosts that a project's leases may have at one moment; a new lease counts with its `max`.",
    "vcpus": "vCPUs that the instances of a project's leases may have at one moment, dedicated ones included.",
    "memory_mb": "Memory that the instances of a project's leases may have at one moment, in MiB.",
    "floating_ips": "Floating IPs that a project's leases may have at one moment.",
}
_STACKING = {
    "max_open_leases_per_user": "Leases that a user may have at a time in one project, future ones included.",
    "max_hosts_per_user": "Whole hosts that a user's leases in one project may have at one moment.",
    "max_host_hours_per_user": "Hours times whole hosts that a user's leases in one project may have ahead of them.",
    "max_host_hours_per_project": "Hours times whole hosts that a project's leases may have ahead of them.",
}
_DEFAULTS = LimitSettings()


def limit(name: str, text: str, default: int | None = None, most: int = 2**53) -> cfg.IntOpt:
    """Return an option for a limit; without a `default` it means no limit."""
    value = UNLIMITED if default is None else default
    return cfg.IntOpt(name, default=value, min=UNLIMITED, max=most, help=f"{text} -1 means no limit.")


ENFORCEMENT_OPTIONS = [
    cfg.ListOpt(
        "enabled_filters",
        default=[],
        help="Filters, by class name, that a lease has to pass in addition to those of sizes and of projects.",
    ),
    cfg.IntOpt(
        "max_lease_duration",
        default=UNLIMITED,
        min=UNLIMITED,
        max=MOST,
        help="Longest lease that MaxLeaseDurationFilter grants, in seconds; -1 means no limit.",
    ),
    cfg.ListOpt(
        "max_lease_duration_exempt_project_ids",
        default=[],
        help="Projects to which the longest duration does not apply.",
    ),
    cfg.ListOpt("exempt_project_ids", default=[], help="Projects to which no filter applies."),
    limit("max_open_leases", "Leases that a project may have at a time, future ones included.", _DEFAULTS.open_leases),
    *(limit(name, text) for name, text in _STACKING.items()),
    *(limit(name, _TOTAL_TEXTS[what], _DEFAULTS.totals[what]) for name, what in TOTALS.items()),
    cfg.Opt(
        "max_open_leases_by_project",
        type=types.Dict(types.Integer(min=UNLIMITED)),
        default={},
        help="Limits of single projects instead of max_open_leases, as `id:20,other-id:-1`; -1 means no limit.",
    ),
    cfg.FloatOpt(
        "max_decision_seconds",
        default=2.0,
        min=0.1,
        help="Seconds that the service may take to choose resources for one lease. Other leases of the same resources "
        "wait meanwhile; a request that takes longer is refused.",
    ),
    cfg.FloatOpt(
        "max_explanation_seconds",
        default=0.1,
        min=0.0,
        help="How many of these seconds the service may use to find out what it could grant instead of a refused "
        "request.",
    ),
    cfg.FloatOpt(
        "max_rebinding_seconds",
        default=LeaseSettings().rebinding_seconds,
        min=0.0,
        help="How many of these seconds the service may use to find other resources for leases that have not started, "
        "so that a request fits that would be refused otherwise. 0 switches this off.",
    ),
    cfg.IntOpt(
        "max_offers_per_project",
        default=_DEFAULTS.offers,
        min=0,
        max=10_000,
        help="Offers that a project may have open at a time; also for projects to which no filter applies. 0 switches "
        "offers off.",
    ),
    limit("max_start_lookahead", "How far from now MaxLookaheadFilter lets a lease start, in seconds.", most=MOST),
    limit("max_end_lookahead", "How far from now MaxLookaheadFilter lets a lease end, in seconds.", most=MOST),
    limit("max_reservations_per_lease", "Reservations that one lease may have.", _DEFAULTS.reservations),
    *(
        limit(name, f"Largest sum of the {field} of all {kind} reservations of one lease.")
        for kind, (name, field) in AMOUNTS.items()
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DEFAULT_OPTIONS)
    conf.register_opts(LEASES_OPTIONS, group="leases")
    conf.register_opts(MANAGER_OPTIONS, group="manager")
    conf.register_opts(ENFORCEMENT_OPTIONS, group="enforcement")


def read(conf: cfg.ConfigOpts) -> LeaseSettings:
    """Return the dates and the limits of leases."""
    return read_fields(
        LeaseSettings,
        conf.manager,
        cleaning_time=timedelta(minutes=conf.cleaning_time),
        cleaning_time_by_type=_read_cleaning_times(conf.cleaning_time_by_type),
        lead_time_by_type=_read_lead_times(conf.lead_time_by_type, conf[HOST].lead_seconds),
        before_end=timedelta(minutes=conf.manager.minutes_before_end_lease),
        retries=conf.manager.lease_retries,
        retry_pause=timedelta(seconds=conf.manager.lease_retry_seconds),
        weigher_by_type=dict(each.split("=") for each in conf.manager.weigher_by_type),
        default_properties_by_type=default_properties.read(conf.manager.default_properties_by_type),
        max_duration=_seconds(conf.enforcement.max_lease_duration),
        max_duration_exempt_projects=frozenset(conf.enforcement.max_lease_duration_exempt_project_ids),
        enforcement_filters=tuple(conf.enforcement.enabled_filters),
        decision_seconds=conf.enforcement.max_decision_seconds,
        explanation_seconds=conf.enforcement.max_explanation_seconds,
        rebinding_seconds=conf.enforcement.max_rebinding_seconds,
        limits=_read_limits(conf.enforcement),
        external=external.read(conf),
        longest_recycling=timedelta(seconds=conf.manager.longest_recycle_seconds),
        purpose_required=conf.leases.purpose_required,
    )


def _read_limits(group: Any) -> LimitSettings:
    by_project: Mapping[str, int] = group.max_open_leases_by_project
    amounts = {kind: _most(group[name]) for kind, (name, _) in AMOUNTS.items()}
    return LimitSettings(
        open_leases=_most(group.max_open_leases),
        open_leases_by_project={project: _most(value) for project, value in by_project.items()},
        totals={what: most for name, what in TOTALS.items() if (most := _most(group[name])) is not None},
        start_lookahead=_seconds(group.max_start_lookahead),
        end_lookahead=_seconds(group.max_end_lookahead),
        reservations=_most(group.max_reservations_per_lease),
        amounts={kind: most for kind, most in amounts.items() if most is not None},
        exempt_projects=frozenset(group.exempt_project_ids),
        user_open_leases=_most(group.max_open_leases_per_user),
        user_hosts=_most(group.max_hosts_per_user),
        user_host_hours=_most(group.max_host_hours_per_user),
        project_host_hours=_most(group.max_host_hours_per_project),
        offers=group.max_offers_per_project,
    )


def _most(value: int) -> int | None:
    return None if value == UNLIMITED else value


def _seconds(value: int) -> timedelta | None:
    return None if value == UNLIMITED else timedelta(seconds=value)


def _read_cleaning_times(texts: Iterable[str]) -> Mapping[str, timedelta]:
    """Return the cleaning time of each type that is named; raises ConfigurationError."""
    found = _by_type("cleaning_time_by_type", texts, "MINUTES", MOST_CLEANING)
    return {name: timedelta(minutes=minutes) for name, minutes in found.items()}


def _read_lead_times(texts: Iterable[str], of_hosts: int) -> Mapping[str, timedelta]:
    """Return the lead time of each type that has one, in whole minutes; raises ConfigurationError.

    Offered windows start on whole minutes, and so the work of a start that is offered begins on one.
    """
    found = _by_type("lead_time_by_type", texts, "SECONDS", YEAR)
    if of_hosts and found.setdefault(HOST, of_hosts) != of_hosts:
        raise unusable(
            f"[physical:host] lead_seconds and {HOST} in [DEFAULT] lead_time_by_type differ: set one of them."
        )
    return (
        {name: timedelta(minutes=-(-seconds // 60)) for name, seconds in found.items()} if any(found.values()) else {}
    )


def _by_type(option: str, texts: Iterable[str], unit: str, most: int) -> dict[str, int]:
    """Return the number that an option of this group has for each type; raises ConfigurationError."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.rpartition("="))
        if not (name and equals and number.isdecimal() and int(number) <= most):
            message = f"[DEFAULT] {option} has {text!r}: write TYPE={unit}, such as physical:host=30."
        elif name in found:
            message = f"[DEFAULT] {option} names {name} twice: name it once."
        else:
            found[name] = int(number)
            continue
        raise unusable(message)
    return found
