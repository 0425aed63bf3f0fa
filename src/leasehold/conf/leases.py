"""Options that date and limit leases; names and defaults are Blazar's (contract lifecycle §11)."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg

from leasehold.conf.settings import LeaseSettings

UNLIMITED = -1

DEFAULT_OPTIONS = [
    cfg.IntOpt(
        "cleaning_time",
        default=0,
        min=0,
        help="Minutes kept free before and after every lease when resources are chosen.",
    ),
]

MANAGER_OPTIONS = [
    cfg.IntOpt(
        "minutes_before_end_lease",
        default=60,
        min=0,
        help="Minutes between the before_end_lease event and the end of a lease; 0 means no such event.",
    ),
]

ENFORCEMENT_OPTIONS = [
    cfg.ListOpt("enabled_filters", default=[], help="Filters that a lease has to pass, by class name."),
    cfg.IntOpt(
        "max_lease_duration",
        default=UNLIMITED,
        min=UNLIMITED,
        help="Longest lease that MaxLeaseDurationFilter grants, in seconds; -1 means any length.",
    ),
    cfg.ListOpt(
        "max_lease_duration_exempt_project_ids",
        default=[],
        help="Projects to which the longest duration does not apply.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DEFAULT_OPTIONS)
    conf.register_opts(MANAGER_OPTIONS, group="manager")
    conf.register_opts(ENFORCEMENT_OPTIONS, group="enforcement")


def read(conf: cfg.ConfigOpts) -> LeaseSettings:
    """Return how leases are dated and limited."""
    longest: int = conf.enforcement.max_lease_duration
    return LeaseSettings(
        cleaning_time=timedelta(minutes=conf.cleaning_time),
        before_end=timedelta(minutes=conf.manager.minutes_before_end_lease),
        max_duration=None if longest == UNLIMITED else timedelta(seconds=longest),
        max_duration_exempt_projects=frozenset(conf.enforcement.max_lease_duration_exempt_project_ids),
        enforcement_filters=tuple(conf.enforcement.enabled_filters),
    )
