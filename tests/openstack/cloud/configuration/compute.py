"""Nova's configuration: one file for all of it, and a small one for each of the computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.cloud.configuration.common import (
    NOTIFYING,
    Sections,
    account,
    cache,
    database,
    messaging,
    token_check,
)

if TYPE_CHECKING:
    from tests.openstack.cloud.layout import Site

_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "SameHostFilter",
    "DifferentHostFilter",
    # Before the two filters that refuse some of the same hosts, so that the tests show what ours refuses by itself.
    "LeaseholdFilter",
    "AggregateMultiTenancyIsolation",
    "AggregateInstanceExtraSpecsFilter",
)
# In seconds; Nova regards a killed compute as down after the second.
REPORT_EVERY, DOWN_AFTER = 5, 20


def nova(site: Site) -> Sections:
    common = messaging(site, "nova")
    return {
        **common,
        "DEFAULT": {**common["DEFAULT"], **_defaults()},
        **NOTIFYING,
        "notifications": {"notification_format": "versioned"},
        "api": {"auth_strategy": "keystone"},
        "api_database": database(site, "nova_api"),
        "database": database(site, "nova"),
        "conductor": {"workers": 1},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 5},
        "filter_scheduler": {
            "available_filters": ["nova.scheduler.filters.all_filters", "leasehold_nova.filter.LeaseholdFilter"],
            "enabled_filters": ",".join(_FILTERS),
        },
        "blazar:physical:host": {"aggregate_freepool_name": "freepool"},
        # A compute caches the child providers of its own. After the deletion of one, as when a host is no longer
        # enrolled, it cannot build a server for this many seconds; the default is 300.
        "compute": {"resource_provider_association_refresh": 1},
        "quota": {"instances": 1000, "cores": 100_000, "ram": 100_000_000},
        "glance": {"endpoint_override": f"http://{site.address('glance')}"},
        "service_user": {"send_service_user_token": True, **account(site, "nova")},
        "placement": account(site, "placement"),
        "neutron": {"service_metadata_proxy": False, **account(site, "neutron")},
        "vnc": {"enabled": False},
        "cache": cache(site),
        "keystone_authtoken": token_check(site, "nova"),
    }


def _defaults() -> dict[str, object]:
    return {
        "my_ip": "127.0.0.1",
        "compute_driver": "leasehold_cloud.SteadyDriver",
        "rpc_response_timeout": 60,
        "sync_power_state_interval": -1,
        "report_interval": REPORT_EVERY,
        "service_down_time": DOWN_AFTER,
        "graceful_shutdown_timeout": 10,
        "scheduler_host_subset_size": 1,
    }


def nova_compute(site: Site, name: str) -> Sections:
    """Return the options that distinguish one of several computes on one machine."""
    return {"DEFAULT": {"host": name, "state_path": site.home.data / name}}
