"""The region of the cloud that this service is in (feature C3)."""

from __future__ import annotations

from oslo_config import cfg

from leasehold.conf.settings import ApiSettings

DEFAULTS = ApiSettings()
GROUP = "regions"

OPTIONS = [
    cfg.StrOpt(
        "name",
        help="Name of this service's own region, which `$region` in property expressions is; by default `[nova] "
        "region_name`, else `os_region_name`, else RegionOne.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(OPTIONS, group=GROUP)


def settle(conf: cfg.ConfigOpts) -> None:
    """Give a region that has no name the one that other options say, so that each reader of the group finds it."""
    conf.set_default("name", conf.nova.region_name or conf.os_region_name or DEFAULTS.region, group=GROUP)
