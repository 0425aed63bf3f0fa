"""The configuration of what Nova uses: Placement, Glance and Neutron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.cloud.configuration.common import NOTIFYING, Sections, account, database, messaging, token_check

if TYPE_CHECKING:
    from tests.openstack.cloud.layout import Site

_UNLIMITED_QUOTAS = ("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule")


def placement(site: Site) -> Sections:
    return {
        "placement_database": database(site, "placement"),
        "keystone_authtoken": token_check(site, "placement"),
    }


def glance(site: Site) -> Sections:
    common = messaging(site, "glance")
    data = site.home.data
    return {
        **common,
        "DEFAULT": {**common["DEFAULT"], "enabled_backends": "files:file"},
        "glance_store": {"default_backend": "files"},
        "files": {"filesystem_store_datadir": data / "images"},
        "os_glance_staging_store": {"filesystem_store_datadir": data / "glance" / "staging"},
        "os_glance_tasks_store": {"filesystem_store_datadir": data / "glance" / "tasks"},
        "database": database(site, "glance"),
        "paste_deploy": {
            "flavor": "keystone",
            "config_file": site.venv / "etc" / "glance" / "glance-api-paste.ini",
        },
        "keystone_authtoken": token_check(site, "glance"),
    }


def neutron(site: Site) -> Sections:
    common = messaging(site, "neutron")
    return {
        **common,
        **NOTIFYING,
        "DEFAULT": {
            **common["DEFAULT"],
            "core_plugin": "ml2",
            # Routers without an L3 agent: floating IPs can be created and attached, but no packet ever flows.
            "service_plugins": "router",
            "auth_strategy": "keystone",
            "rpc_workers": 0,
            "notify_nova_on_port_status_changes": True,
            "notify_nova_on_port_data_changes": True,
            "dhcp_agent_notification": False,
            "api_paste_config": site.venv / "etc" / "neutron" / "api-paste.ini",
        },
        "quotas": {"default_quota": -1, **{f"quota_{name}": -1 for name in _UNLIMITED_QUOTAS}},
        "database": database(site, "neutron"),
        "nova": account(site, "nova"),
        "placement": account(site, "placement"),
        "keystone_authtoken": token_check(site, "neutron"),
    }


def ml2() -> Sections:
    return {
        "ml2": {
            "type_drivers": "flat,vlan,vxlan",
            "tenant_network_types": "vxlan",
            "mechanism_drivers": "leasehold_cloud",
        },
        "ml2_type_flat": {"flat_networks": "public"},
        "ml2_type_vxlan": {"vni_ranges": "1:10000"},
    }
