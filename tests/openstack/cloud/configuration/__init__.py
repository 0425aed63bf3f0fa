"""The configuration files of all services."""

from __future__ import annotations

import shutil
import uuid
from typing import TYPE_CHECKING

from tests.openstack.cloud.configuration.common import write
from tests.openstack.cloud.configuration.compute import nova, nova_compute
from tests.openstack.cloud.configuration.identity import keystone
from tests.openstack.cloud.configuration.resources import glance, ml2, neutron, placement
from tests.openstack.cloud.home import COMPUTES

if TYPE_CHECKING:
    from tests.openstack.cloud.layout import Site

__all__ = ["write_all"]


def write_all(site: Site) -> None:
    """Write all files for these ports and folders; replaces existing files."""
    etc = site.home.etc
    write(etc / "keystone" / "keystone.conf", keystone(site))
    write(etc / "placement" / "placement.conf", placement(site))
    write(etc / "glance" / "glance-api.conf", glance(site))
    write(etc / "neutron" / "neutron.conf", neutron(site))
    write(etc / "neutron" / "ml2_conf.ini", ml2())
    write(etc / "nova" / "nova.conf", nova(site))
    # Nova's API expects this file beside its configuration.
    shutil.copyfile(site.venv / "etc" / "nova" / "api-paste.ini", etc / "nova" / "api-paste.ini")
    for name in COMPUTES:
        write(etc / "nova" / f"{name}.conf", nova_compute(site, name))
        # Without this file nova-compute starts once, and then never again.
        identity = site.home.data / name / "compute_id"
        identity.parent.mkdir(parents=True, exist_ok=True)
        identity.write_text(str(uuid.uuid5(uuid.NAMESPACE_DNS, name)))
    for name in ("images", "nova", "neutron", "glance"):
        (site.home.data / name).mkdir(exist_ok=True)
