"""The sandbox's virtual machines: booted through its scheduler; deleted and moved at once or after a set time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, exists, or_, select, update

from leasehold.cloud.ports import Server
from leasehold.cloud.sandbox.boots import BootOrder, choose_host, forget, move, store
from leasehold.cloud.sandbox.faults import database_errors, verb
from leasehold.cloud.sandbox.images import forget_shelved, lose_uploads
from leasehold.cloud.sandbox.port import (
    HOST_NOW,
    MOVING,
    SCHEDULER,
    STILL_THERE,
    Port,
    change_setting,
    is_on,
    locked,
    setting,
)
from leasehold.cloud.sandbox.stopping import OFFLOADED, SHELVED, SUSPENDED, offload, shelve, suspend
from leasehold.cloud.sandbox.tables import servers, shelved, suspended
from leasehold.db.engine import alone, reading, writing
from leasehold_nova.decision import FilterOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Select


DELETE_SECONDS = "server_delete_seconds"
PREEMPTIBLES = "allow_preemptibles"
MIGRATE_SECONDS = "server_migrate_seconds"
SHELVE_SECONDS = "server_shelve_seconds"
SUSPEND_SECONDS = "server_suspend_seconds"

_SHELVING = exists().where(shelved.c.server_id == servers.c.id, shelved.c.done_at > bindparam("now"))
_SUSPENDING = exists().where(suspended.c.server_id == servers.c.id, suspended.c.done_at > bindparam("now"))
_SHOWN = {
    "service_host": HOST_NOW.label("service_host"),
    "status": case(
        (and_(MOVING, servers.c.status == "ACTIVE"), "MIGRATING"),
        (and_(_SHELVING, servers.c.status == SHELVED), "SHELVING"),
        (and_(_SUSPENDING, servers.c.status == SUSPENDED), "SUSPENDING"),
        (servers.c.status == OFFLOADED, "SHELVED_OFFLOADED"),
        else_=servers.c.status,
    ).label("status"),
}
_COLUMNS = select(*(_SHOWN.get(name, servers.c[name]) for name in Server.__dataclass_fields__)).where(STILL_THERE)
_ALL = _COLUMNS.order_by(servers.c.created_at, servers.c.id)
_ON_HOST = _ALL.where(is_on(lambda host: host == bindparam("host")))
_ON_HOSTS = _ALL.where(is_on(lambda host: host.in_(bindparam("hosts", expanding=True))))
_WITH_FLAVOR = _ALL.where(servers.c.flavor_id == bindparam("flavor"))
_WITH_IDS = _ALL.where(servers.c.id.in_(bindparam("ids", expanding=True)))
_BY_ID_OR_NAME = _ALL.where(or_(servers.c.id == bindparam("reference"), servers.c.name == bindparam("reference")))
_FAULT = select(servers.c.fault).where(servers.c.id == bindparam("server"), STILL_THERE)
_PRESENT = select(servers.c.gone_at).where(servers.c.id == bindparam("server"), STILL_THERE)
_GONE = select(servers.c.id).where(servers.c.gone_at <= bindparam("now"))
_MARK = update(servers).where(servers.c.id == bindparam("server"))
_MARK = _MARK.values(status="DELETING", gone_at=bindparam("new_gone_at"))


class SandboxServers(Port):
    """Implements `ports.Servers`, and boots servers as users of a cloud do, for which the port has no verb."""

    group = "servers"

    @verb
    def on_host(self, service_host: str) -> Sequence[Server]:
        """Return the servers that run on a host, of every project, oldest first."""
        return self._read(_ON_HOST, {"host": service_host})

    @verb
    def on_hosts(self, service_hosts: Collection[str]) -> Sequence[Server]:
        """Return the servers that run on any of these hosts, of every project, oldest first."""
        return self._read(_ON_HOSTS, {"hosts": sorted(service_hosts)})

    @verb
    def with_flavor(self, flavor_id: str) -> Sequence[Server]:
        """Return the servers that were booted with a flavor, of every project, oldest first, failed ones too."""
        return self._read(_WITH_FLAVOR, {"flavor": flavor_id})

    @verb
    def with_ids(self, server_ids: Collection[str]) -> Sequence[Server]:
        """Return those of these servers that exist, oldest first."""
        return self._read(_WITH_IDS, {"ids": sorted(server_ids)})

    @verb
    def delete(self, server_id: str) -> None:
        """Delete a server: at once, or after `server_delete_seconds` in status DELETING."""
        now = self.clock()
        with writing(self.engine) as connection:
            row = connection.execute(_PRESENT, {"server": server_id, "now": now}).first()
            if row is None or row.gone_at is not None:
                return
            lose_uploads(connection, server_id, now)
            forget_shelved(connection, server_id)
            seconds = setting(connection, DELETE_SECONDS, 0)
            if seconds > 0:
                gone_at = now + timedelta(seconds=seconds)
                connection.execute(_MARK, {"server": server_id, "new_gone_at": gone_at})
            else:
                forget(connection, [server_id])

    @verb
    def migrate(self, server_id: str) -> None:
        """Move a server through the scheduler: at once, or after `server_migrate_seconds` in status MIGRATING."""
        now = self.clock()
        with locked(self.engine, SCHEDULER) as connection:
            done_at = now + timedelta(seconds=setting(connection, MIGRATE_SECONDS, 0))
            move(connection, server_id, self.options_now(connection), now, done_at)

    @verb
    def shelve(self, server_id: str) -> None:
        """Shelve a server: at once, or after `server_shelve_seconds` in status SHELVING."""
        now = self.clock()
        with writing(self.engine) as connection:
            done_at = now + timedelta(seconds=setting(connection, SHELVE_SECONDS, 0))
            shelve(connection, server_id, now, done_at)

    @verb
    def offload(self, server_id: str) -> None:
        """Take a shelved server off its host."""
        with writing(self.engine) as connection:
            offload(connection, server_id, self.clock())

    @verb
    def suspend(self, server_id: str) -> None:
        """Suspend a server: at once, or after `server_suspend_seconds` in status SUSPENDING."""
        now = self.clock()
        with writing(self.engine) as connection:
            done_at = now + timedelta(seconds=setting(connection, SUSPEND_SECONDS, 0))
            suspend(connection, server_id, now, done_at)

    def boot(
        self,
        name: str,
        project_id: str,
        flavor_id: str,
        reservation_hints: Iterable[str] = (),
        *,
        preemptible: bool = False,
    ) -> Server:
        """Boot a server as a user of the project would, and return it, ACTIVE on a host or in ERROR.

        One transaction under one lock chooses the host and stores the server, so no two servers take the same capacity.
        Raises CloudPermanentError when the flavor does not exist or is not for this project. `preemptible` acts like
        the flavor's extra spec `blazar:preemptible`.
        """
        with database_errors("servers.boot"), locked(self.engine, SCHEDULER) as connection:
            now = self.clock()
            forget(connection, connection.execute(_GONE, {"now": now}).scalars().all())
            order = BootOrder(name, project_id, flavor_id, tuple(reservation_hints), preemptible)
            boot = choose_host(connection, order, self.options_now(connection), now)
            store(connection, boot)
        return boot.server

    def all(self) -> Sequence[Server]:
        """Return every server, oldest first."""
        return self._read(_ALL, {})

    def find(self, reference: str) -> Sequence[Server]:
        """Return the servers with this id or name; names need not be unique."""
        return self._read(_BY_ID_OR_NAME, {"reference": reference})

    def fault(self, server_id: str) -> str | None:
        """Return why a server is in ERROR; None when it is not, or is gone."""
        with reading(self.engine) as connection:
            row = connection.execute(_FAULT, {"server": server_id, "now": self.clock()}).first()
        return None if row is None else row.fault

    def allow_preemptibles(self, allowed: bool) -> None:  # noqa: FBT001 - the value of an option of Nova.
        """Let preemptible servers run on free hosts from now on, as the option of the filter in nova.conf, or not."""
        change_setting(self.engine, PREEMPTIBLES, allowed)

    def options_now(self, connection: Connection) -> FilterOptions:
        """Return the options of the filter: the contract's defaults, but for what `allow_preemptibles` has changed."""
        return FilterOptions(allow_preemptibles=setting(connection, PREEMPTIBLES, default=False))

    def take_to(self, verb: str, seconds: float) -> None:
        """Let `delete`, `migrate`, `shelve` or `suspend` take `seconds` from now on; 0 means at once."""
        change_setting(self.engine, f"server_{verb}_seconds", seconds)

    def _read(self, statement: Select[Any], values: Mapping[str, Any]) -> Sequence[Server]:
        with alone(self.engine) as connection:
            rows = connection.execute(statement, {**values, "now": self.clock()}).all()
        return [Server(*row) for row in rows]
