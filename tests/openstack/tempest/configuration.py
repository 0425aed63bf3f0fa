"""tempest.conf for the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.cloud.home import REGION

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.cloud.configuration.common import Sections, Values


def tempest_conf(cloud: RunningCloud, workspace: Path) -> Sections:
    available = {"nova": True, "neutron": True, "glance": True, "blazar": True}
    missing = dict.fromkeys(("cinder", "swift", "horizon"), False)
    return {
        # Logs requests and answers, to find out why a test fails.
        "DEFAULT": {"log_file": "tempest.log", "debug": True},
        "oslo_concurrency": {"lock_path": workspace / "locks"},
        "auth": {
            "use_dynamic_credentials": True,
            "create_isolated_networks": True,
            "admin_username": "admin",
            "admin_password": cloud.password,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
        },
        "identity": {"uri_v3": cloud.auth_url, "auth_version": "v3", "region": REGION},
        "identity-feature-enabled": {"api_v2": False},
        "service_available": {**available, **missing},
        **_contents(cloud),
        # One cannot log in to a fake server.
        "validation": {"run_validation": False},
        "resource_reservation": {"lease_interval": 10, "lease_end_timeout": 300},
    }


def _contents(cloud: RunningCloud) -> dict[str, Values]:
    admin = cloud.connection()
    images = {image.name: image.id for image in admin.image.images()}
    flavors = {flavor.name: flavor.id for flavor in admin.compute.flavors()}
    public = admin.network.find_network("public", ignore_missing=False)
    return {
        "compute": {
            "image_ref": images["cirros"],
            "image_ref_alt": images["cirros-alt"],
            "flavor_ref": flavors["m1.tiny"],
            "flavor_ref_alt": flavors["m1.small"],
            "build_interval": 1,
            "build_timeout": 120,
            "min_compute_nodes": len(cloud.computes),
        },
        "network": {
            "public_network_id": public.id,
            "floating_network_name": "public",
            "project_network_cidr": "10.100.0.0/16",
        },
    }
