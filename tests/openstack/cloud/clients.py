"""Connections to the cloud with OpenStack's SDK."""

from __future__ import annotations

from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection

from tests.openstack.cloud.home import PASSWORD, REGION


def connect(auth_url: str, user: str = "admin", project: str = "admin") -> Connection:
    """Return a connection that reads neither clouds.yaml nor environment variables.

    It uses Keystone's known address, because the catalogue may still name the port of an earlier start.
    """
    account = Password(
        auth_url=auth_url,
        username=user,
        password=PASSWORD,
        project_name=project,
        user_domain_name="Default",
        project_domain_name="Default",
    )
    return Connection(
        session=Session(auth=account),
        region_name=REGION,
        identity_api_version="3",
        identity_endpoint_override=auth_url,
        compute_api_version="2.1",
    )
