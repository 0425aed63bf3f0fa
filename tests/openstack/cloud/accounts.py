"""Creates projects, users, roles and the catalogue; may run again at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openstack.identity.v3._proxy import Proxy as Identity

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import PASSWORD, REGION

if TYPE_CHECKING:
    from openstack.connection import Connection

    from tests.openstack.cloud.layout import Site

MEMBERS = ("demo", "alt")
INTERFACES = ("public", "internal", "admin")
RESERVATION = "reservation"


def seed_accounts(connection: Connection, site: Site) -> None:
    identity = _identity(connection)
    for name in ("admin", "member", "reader", "service"):
        identity.find_role(name) or identity.create_role(name=name)
    _project(connection, "service")
    for name in ("placement", "glance", "nova", "neutron", "leasehold"):
        _member(connection, name, "service", "admin", "service")
    for name in MEMBERS:
        _project(connection, name)
        _member(connection, name, name, "member", "reader")
        _grant(connection, "admin", name, "admin")
    for service_type, url in _catalogue(site).items():
        set_endpoint(connection, service_type, url)


def _catalogue(site: Site) -> dict[str, str]:
    return {
        "identity": site.auth_url,
        "placement": f"http://{site.address('placement')}",
        "image": f"http://{site.address('glance')}",
        "compute": f"http://{site.address('nova-api')}/v2.1",
        "network": f"http://{site.address('neutron')}",
    }


def set_endpoint(connection: Connection, service_type: str, url: str) -> None:
    """Set this URL as the only one of a service type in the catalogue."""
    identity = _identity(connection)
    service = next(identity.services(type=service_type), None)
    if service is None:
        service = identity.create_service(name=service_type, type=service_type)
    present = {endpoint.interface: endpoint for endpoint in identity.endpoints(service_id=service.id)}
    for interface in INTERFACES:
        if interface not in present:
            identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=REGION)
        elif present[interface].url != url:
            identity.update_endpoint(present[interface], url=url)


def find_endpoint(connection: Connection, service_type: str) -> str | None:
    """Return the public URL of a type of service."""
    identity = _identity(connection)
    service = next(identity.services(type=service_type), None)
    if service is None:
        return None
    return next((str(item.url) for item in identity.endpoints(service_id=service.id, interface="public")), None)


def _identity(connection: Connection) -> Identity:
    """Return the API of Keystone's version 3; the SDK's types allow other versions as well."""
    if not isinstance(connection.identity, Identity):
        raise CloudError("The cloud's Keystone does not speak version 3.")
    return connection.identity


def _project(connection: Connection, name: str) -> None:
    identity = _identity(connection)
    identity.find_project(name) or identity.create_project(name=name, domain_id="default")


def _member(connection: Connection, user: str, project: str, *roles: str) -> None:
    identity = _identity(connection)
    if identity.find_user(user) is None:
        home = identity.find_project(project, ignore_missing=False)
        identity.create_user(name=user, password=PASSWORD, domain_id="default", default_project_id=home.id)
    _grant(connection, user, project, *roles)


def _grant(connection: Connection, user: str, project: str, *roles: str) -> None:
    identity = _identity(connection)
    where = identity.find_project(project, ignore_missing=False).id
    who = identity.find_user(user, ignore_missing=False).id
    for role in roles:
        identity.assign_project_role_to_user(where, who, identity.find_role(role, ignore_missing=False).id)
