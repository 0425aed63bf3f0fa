"""The sandbox's images: snapshots of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import bindparam, insert, select

from leasehold.books.engine import reading, writing
from leasehold.cloud.ports import CloudPermanentError
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import STILL_THERE, Port
from leasehold.cloud.sandbox.tables import images, servers

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRESENT = select(images.c.id).where(
    images.c.server_id == bindparam("server"), images.c.name == bindparam("image_name")
)
_SERVER = select(servers.c.project_id).where(servers.c.id == bindparam("server"), STILL_THERE)
_NAMES = select(images.c.name).where(images.c.server_id == bindparam("server")).order_by(images.c.name)


class SandboxImages(Port):
    """Implements `ports.Images`."""

    group = "images"

    @verb
    def snapshot(self, server_id: str, name: str) -> None:
        """Make an image of the server; CloudPermanentError when the server is gone and there is no such image."""
        with writing(self.engine) as connection:
            if connection.execute(_PRESENT, {"server": server_id, "image_name": name}).first() is not None:
                return
            now = self.clock()
            project_id = connection.execute(_SERVER, {"server": server_id, "now": now}).scalar_one_or_none()
            if project_id is None:
                raise CloudPermanentError(f"sandbox images.snapshot: there is no server {server_id}")
            row = {
                "id": str(uuid4()),
                "server_id": server_id,
                "project_id": project_id,
                "name": name,
                "created_at": now,
            }
            connection.execute(insert(images), row)

    def of_server(self, server_id: str) -> Sequence[str]:
        """Return the names of the images that were made of a server."""
        with reading(self.engine) as connection:
            return connection.execute(_NAMES, {"server": server_id}).scalars().all()
