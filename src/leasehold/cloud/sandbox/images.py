"""The sandbox's images: snapshots of servers, complete at once or after a set time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import bindparam, delete, func, insert, select, update

from leasehold.cloud.ports import (
    COMPLETE,
    FAILED,
    RESERVATION_OF_IMAGE,
    SAVING,
    CloudPermanentError,
    CloudTransientError,
    Image,
)
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import STILL_THERE, Port, setting
from leasehold.cloud.sandbox.tables import image_owners, servers, snapshots
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Select

UPLOAD_SECONDS = "snapshot_seconds"
SERVICE = "service"
"""The project of the service, which makes the images."""

_OWNER = func.coalesce(image_owners.c.project_id, SERVICE).label("owner")
_OWNED = snapshots.outerjoin(image_owners, image_owners.c.image_id == snapshots.c.id)
_ORDERED = select(snapshots, _OWNER).select_from(_OWNED).order_by(snapshots.c.created_at, snapshots.c.id)
_OF_ID = _ORDERED.where(snapshots.c.id == bindparam("number"))
_OF_SERVER = _ORDERED.where(snapshots.c.server_id == bindparam("server"))
_OF_RESERVATION = _ORDERED.where(snapshots.c.reservation_id == bindparam("reservation"))
_SERVER = select(servers.c.status).where(servers.c.id == bindparam("server"), STILL_THERE)
_COPIED = frozenset({"ACTIVE", "SUSPENDED"})
_OF_SHELVED = _OF_SERVER.where(snapshots.c.reservation_id == "", _OWNER == SERVICE)
"""An image of a reservation names it; what shelving has made names none."""
_FORGET = delete(snapshots).where(snapshots.c.id.in_(bindparam("numbers", expanding=True)))
_LOSE = update(snapshots).values(failed=True)
_LOSE = _LOSE.where(snapshots.c.server_id == bindparam("server"), snapshots.c.ready_at > bindparam("now"))


class SandboxImages(Port):
    """Implements `ports.Images`."""

    group = "images"

    @verb
    def snapshot(self, server_id: str, name: str, project_id: str, metadata: Mapping[str, str]) -> None:
        """Start an image of the server, unless one with this metadata exists and has not failed."""
        call, now = "sandbox images.snapshot", self.clock()
        with writing(self.engine) as connection:
            there = _read(connection, _OF_SERVER, {"server": server_id}, now)
            if any(each.metadata == metadata and each.status != FAILED for each in there):
                return
            server = connection.execute(_SERVER, {"server": server_id, "now": now}).one_or_none()
            if server is None:
                raise CloudPermanentError(f"{call}: there is no server {server_id}")
            if server.status not in _COPIED:
                raise CloudTransientError(f"{call}: server {server_id} is {server.status}")
            ready_at = now + timedelta(seconds=setting(connection, UPLOAD_SECONDS, 0))
            _store(connection, server_id, project_id, name, metadata, now, ready_at)

    @verb
    def of_reservation(self, reservation_id: str) -> Sequence[Image]:
        """Return the images whose metadata names the reservation, oldest first, failed ones too."""
        with reading(self.engine) as connection:
            return _read(connection, _OF_RESERVATION, {"reservation": reservation_id}, self.clock())

    @verb
    def of_shelved(self, server_id: str) -> Sequence[Image]:
        """Return the images as which a server was shelved and which belong to the service."""
        with reading(self.engine) as connection:
            return _read(connection, _OF_SHELVED, {"server": server_id}, self.clock())

    @verb
    def hand_over(self, image_id: str, project_id: str) -> None:
        """Make an image the project's own."""
        with writing(self.engine) as connection:
            if not _read(connection, _OF_ID, {"number": image_id}, self.clock()):
                raise CloudPermanentError(f"sandbox images.hand_over: there is no image {image_id}")
            connection.execute(delete(image_owners).where(image_owners.c.image_id == image_id))
            connection.execute(insert(image_owners), {"image_id": image_id, "project_id": project_id})

    def of_server(self, server_id: str) -> Sequence[Image]:
        """Return the images that were made of a server, oldest first."""
        with reading(self.engine) as connection:
            return _read(connection, _OF_SERVER, {"server": server_id}, self.clock())


def keep_shelved(connection: Connection, server_id: str, name: str, now: datetime, ready_at: datetime) -> None:
    """Store the image as which a server is shelved; it belongs to the service, which has asked for it."""
    _store(connection, server_id, "", f"{name}-shelved", {}, now, ready_at)


def forget_shelved(connection: Connection, server_id: str) -> None:
    """Remove the images as which a server was shelved."""
    there = connection.execute(_OF_SERVER, {"server": server_id}).all()
    gone = [each.id for each in there if not each.reservation_id]
    if gone:
        connection.execute(_FORGET, {"numbers": gone})


def _store(
    connection: Connection,
    server_id: str,
    project_id: str,
    name: str,
    metadata: Mapping[str, str],
    now: datetime,
    ready_at: datetime,
) -> None:
    row = {
        "id": str(uuid4()),
        "server_id": server_id,
        "project_id": project_id,
        "reservation_id": metadata.get(RESERVATION_OF_IMAGE, ""),
        "name": name,
        "metadata": dict(metadata),
        "created_at": now,
        "ready_at": ready_at,
        "failed": False,
    }
    connection.execute(insert(snapshots), row)


def lose_uploads(connection: Connection, server_id: str, now: datetime) -> None:
    """Fail a server's incomplete images, because the server is being deleted."""
    connection.execute(_LOSE, {"server": server_id, "now": now})


def _read(connection: Connection, query: Select[Any], values: Mapping[str, str], now: datetime) -> list[Image]:
    rows = connection.execute(query, values).mappings()
    return [
        Image(
            row["id"],
            row["name"],
            row["server_id"],
            _status(row, now),
            row["metadata"],
            project_id=row["owner"],
            meant_for=row["project_id"],
        )
        for row in rows
    ]


def _status(row: Mapping[Any, Any], now: datetime) -> str:
    if row["failed"]:
        return FAILED
    return SAVING if row["ready_at"] > now else COMPLETE
