"""What happens in the sandbox cloud without Leasehold: slow and failed uploads, and ports with addresses."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import delete, insert, update

from leasehold.cloud.ports import NetworkPort
from leasehold.cloud.sandbox.images import UPLOAD_SECONDS
from leasehold.cloud.sandbox.port import change_setting
from leasehold.cloud.sandbox.tables import ports, snapshots
from leasehold.db.engine import writing

if TYPE_CHECKING:
    from leasehold.cloud.sandbox.cloud import SandboxCloud


def take_to_upload(cloud: SandboxCloud, seconds: float) -> None:
    """Complete every image that is started from now on after `seconds`; 0 means at once."""
    change_setting(cloud.images.engine, UPLOAD_SECONDS, seconds)


def fail_upload(cloud: SandboxCloud, image_id: str) -> None:
    """Make the upload of an image fail."""
    with writing(cloud.images.engine) as connection:
        connection.execute(update(snapshots).where(snapshots.c.id == image_id).values(failed=True))


def put_port(cloud: SandboxCloud, network_id: str, address: str, owner: str = "") -> NetworkPort:
    """Give an address that nothing has to a port, as an administrator or a router does."""
    made = NetworkPort(str(uuid4()), network_id, str(ip_address(address)), owner)
    values = {"id": made.id, "network_id": network_id, "address": made.address, "owner": owner}
    with writing(cloud.networks.engine) as connection:
        connection.execute(insert(ports).values(values))
    return made


def remove_port(cloud: SandboxCloud, port_id: str) -> None:
    """Remove a port; does nothing when it is gone."""
    with writing(cloud.networks.engine) as connection:
        connection.execute(delete(ports).where(ports.c.id == port_id))
