"""The sandbox's storage services and volumes, and the controls by which users make volumes, and services fail."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, update

from leasehold.cloud.ports import CloudPermanentError, StorageService
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.machines import SETTLES, runs
from leasehold.cloud.sandbox.port import Port
from leasehold.cloud.sandbox.tables import storage_services, volumes
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

_UP = runs(storage_services.c.host).label("is_up")
_LIST = select(storage_services, _UP).order_by(storage_services.c.name)
_BY_NAME = storage_services.c.name == bindparam("service")
_STUCK = timedelta(hours=1)


class SandboxStorage(Port):
    """Implements `ports.Storage`."""

    group = "storage"

    @verb
    def list(self, host: str | None = None) -> Sequence[StorageService]:
        """Return the services on a host, or the one of that name, or all; they report all the time."""
        query = _LIST if host is None else _LIST.where(or_(storage_services.c.host == host, _BY_NAME))
        now = self.clock()
        with reading(self.engine) as connection:
            rows = connection.execute(query, {"now": now, "service": host}).all()
            since = {row.host: connection.execute(SETTLES, {"host": row.host}).scalar() for row in rows}
        return [
            StorageService(
                name=row.name,
                binary="volume",
                keeps_volumes=True,
                zone=row.zone,
                up=bool(row.is_up),
                at=now if row.is_up else since[row.host],
                enabled=row.disabled_reason is None,
                disabled_reason=row.disabled_reason,
            )
            for row in rows
        ]

    @verb
    def disable(self, service: str, reason: str) -> None:
        """Disable a service, unless it is disabled already."""
        with writing(self.engine) as connection:
            if connection.execute(select(storage_services).where(_BY_NAME), {"service": service}).first() is None:
                raise CloudPermanentError(f"sandbox storage: there is no service {service}")
            enabled = _BY_NAME, storage_services.c.disabled_reason.is_(None)
            change = update(storage_services).where(*enabled).values(disabled_reason=reason)
            connection.execute(change, {"service": service})

    @verb
    def enable(self, service: str, *reasons: str) -> None:
        """Enable a service that is disabled with one of these reasons."""
        ours = storage_services.c.disabled_reason.in_(reasons)
        with writing(self.engine) as connection:
            change = update(storage_services).where(_BY_NAME, ours).values(disabled_reason=None)
            connection.execute(change, {"service": service})

    @verb
    def held(self, host: str) -> Mapping[str, int]:
        """Return how many volumes are on the services of a host; there are no snapshots and groups."""
        with reading(self.engine) as connection:
            # Also on services that were forgotten.
            there = volumes.c.service.startswith(f"{host}@", autoescape=True)
            found = connection.execute(select(func.count()).select_from(volumes).where(there)).scalar_one()
        return {"volumes": found, "snapshots": 0, "groups": 0}

    @verb
    def unplaced(self) -> int:
        """Return how many volumes have no service since less than an hour, or move."""
        fresh = and_(volumes.c.service.is_(None), volumes.c.changed_at > self.clock() - _STUCK)
        query = select(func.count()).select_from(volumes).where(or_(volumes.c.moves, fresh))
        with reading(self.engine) as connection:
            return int(connection.execute(query).scalar_one())

    def add(self, service: str, zone: str = "") -> None:
        """Let a service on a machine, `HOST@BACKEND`, keep volumes; one that was forgotten is enabled then."""
        values = {"name": service, "host": service.partition("@")[0], "zone": zone}
        with writing(self.engine) as connection:
            connection.execute(insert(storage_services), values)

    def forget(self, service: str) -> None:
        """Forget a service; its volumes stay."""
        with writing(self.engine) as connection:
            connection.execute(delete(storage_services).where(_BY_NAME), {"service": service})

    def create_volume(self, *, waits: bool = False) -> tuple[int, str | None]:
        """Make a volume on the first service that is up and enabled; one that `waits` has no service yet."""
        with writing(self.engine) as connection:
            service = None if waits else self._scheduled(connection)
            values = {"service": service, "moves": False, "changed_at": self.clock()}
            made = connection.execute(insert(volumes), values).inserted_primary_key
        return int(made[0]) if made else 0, service

    def change_volume(self, ident: int, **values: Any) -> None:
        """Give a volume to a `service`, whatever that is, or say that it `moves`."""
        with writing(self.engine) as connection:
            change = update(volumes).where(volumes.c.id == ident).values(changed_at=self.clock(), **values)
            connection.execute(change)

    def delete_volume(self, ident: int) -> None:
        """Delete a volume."""
        with writing(self.engine) as connection:
            connection.execute(delete(volumes).where(volumes.c.id == ident))

    def _scheduled(self, connection: Connection) -> str:
        open_ = _UP, storage_services.c.disabled_reason.is_(None)
        found = connection.execute(_LIST.where(*open_), {"now": self.clock()}).first()
        if found is None:
            raise CloudPermanentError("sandbox storage: no service has room for the volume")
        return str(found.name)
