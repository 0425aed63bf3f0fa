"""The sandbox's virtual machines: booted through its scheduler, deleted at once or after a set time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import bindparam, delete, insert, or_, select, update

from leasehold.cloud.ports import CloudPermanentError, Flavor, Server
from leasehold.cloud.sandbox.faults import database_errors, verb
from leasehold.cloud.sandbox.flavors import find_flavor
from leasehold.cloud.sandbox.hosts import read_hosts
from leasehold.cloud.sandbox.images import lose_uploads
from leasehold.cloud.sandbox.port import STILL_THERE, Port, change_setting, locked, setting, utc_now
from leasehold.cloud.sandbox.scheduler import choose, needs_of
from leasehold.cloud.sandbox.tables import servers, usages
from leasehold.db.engine import reading, writing
from leasehold_nova.decision import PREEMPTIBLE_KEY, FilterOptions, Request, truthy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Engine, Select

    from leasehold.cloud.sandbox.faults import Faults

DELETE_SECONDS = "server_delete_seconds"
_SCHEDULER = "scheduler"

_COLUMNS = select(*(servers.c[name] for name in Server.__dataclass_fields__)).where(STILL_THERE)
_ALL = _COLUMNS.order_by(servers.c.created_at, servers.c.id)
_ON_HOST = _ALL.where(servers.c.service_host == bindparam("host"))
_ON_HOSTS = _ALL.where(servers.c.service_host.in_(bindparam("hosts", expanding=True)))
_WITH_FLAVOR = _ALL.where(servers.c.flavor_id == bindparam("flavor"))
_BY_ID_OR_NAME = _ALL.where(or_(servers.c.id == bindparam("reference"), servers.c.name == bindparam("reference")))
_FAULT = select(servers.c.fault).where(servers.c.id == bindparam("server"), STILL_THERE)
_PRESENT = select(servers.c.gone_at).where(servers.c.id == bindparam("server"), STILL_THERE)
_GONE = select(servers.c.id).where(servers.c.gone_at <= bindparam("now"))
_MARK = update(servers).where(servers.c.id == bindparam("server"))
_MARK = _MARK.values(status="DELETING", gone_at=bindparam("new_gone_at"))
_FORGET = (
    delete(usages).where(usages.c.server_id.in_(bindparam("numbers", expanding=True))),
    delete(servers).where(servers.c.id.in_(bindparam("numbers", expanding=True))),
)


class SandboxServers(Port):
    """Implements `ports.Servers`, and boots servers as users of a cloud do, for which the port has no verb."""

    group = "servers"

    def __init__(
        self,
        engine: Engine,
        faults: Faults,
        *,
        clock: Callable[[], datetime] = utc_now,
        options: FilterOptions | None = None,
    ) -> None:
        """Schedule with these filter options; the defaults are the contract's."""
        super().__init__(engine, faults, clock=clock)
        self.options = options or FilterOptions()

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
    def delete(self, server_id: str) -> None:
        """Delete a server: at once, or after `server_delete_seconds` in status DELETING."""
        now = self.clock()
        with writing(self.engine) as connection:
            row = connection.execute(_PRESENT, {"server": server_id, "now": now}).first()
            if row is None or row.gone_at is not None:
                return
            lose_uploads(connection, server_id, now)
            seconds = setting(connection, DELETE_SECONDS, 0)
            if seconds > 0:
                gone_at = now + timedelta(seconds=seconds)
                connection.execute(_MARK, {"server": server_id, "new_gone_at": gone_at})
            else:
                _forget(connection, [server_id])

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
        now = self.clock()
        with database_errors("servers.boot"), locked(self.engine, _SCHEDULER) as connection:
            _forget(connection, connection.execute(_GONE, {"now": now}).scalars().all())
            flavor = _usable_flavor(connection, flavor_id, project_id)
            specs = dict(flavor.extra_specs) | ({PREEMPTIBLE_KEY: "true"} if preemptible else {})
            needs = needs_of(flavor)
            request = Request(project_id, tuple(reservation_hints), flavor.id, specs)
            traits_matter = bool(needs.required or needs.forbidden)
            hosts, total = read_hosts(connection, needs.amounts.keys(), now, with_traits=traits_matter)
            choice = choose(request, needs, hosts, total, self.options)
            server = Server(
                id=str(uuid4()),
                name=name,
                project_id=project_id,
                flavor_id=flavor.id,
                service_host=choice.service_host,
                status="ERROR" if choice.service_host is None else "ACTIVE",
                preemptible=truthy(specs.get(PREEMPTIBLE_KEY)),
                created_at=now,
            )
            values = {name: getattr(server, name) for name in Server.__dataclass_fields__}
            connection.execute(insert(servers).values(**values, fault=choice.reason))
            _use(connection, server.id, needs.amounts, choice.providers)
        return server

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

    def take_to_delete(self, seconds: float) -> None:
        """Make every deletion that is requested from now on take `seconds`; 0 means at once."""
        change_setting(self.engine, DELETE_SECONDS, seconds)

    def _read(self, statement: Select[Any], values: Mapping[str, Any]) -> Sequence[Server]:
        with reading(self.engine) as connection:
            rows = connection.execute(statement, {**values, "now": self.clock()}).all()
        return [Server(*row) for row in rows]


def _usable_flavor(connection: Connection, flavor_id: str, project_id: str) -> Flavor:
    flavor = find_flavor(connection, flavor_id)
    if flavor is None:
        raise CloudPermanentError(f"sandbox servers.boot: there is no flavor {flavor_id}")
    if not flavor.public and project_id not in flavor.projects:
        raise CloudPermanentError(f"sandbox servers.boot: project {project_id} may not use flavor {flavor_id}")
    return flavor


def _use(connection: Connection, server_id: str, amounts: Mapping[str, int], sources: Mapping[str, int]) -> None:
    rows = [
        {"server_id": server_id, "resource_class": name, "provider_id": number, "amount": amounts[name]}
        for name, number in sources.items()
    ]
    if rows:
        connection.execute(insert(usages), rows)


def _forget(connection: Connection, server_ids: Sequence[str]) -> None:
    """Remove the rows of servers and of their usage."""
    if server_ids:
        for statement in _FORGET:
            connection.execute(statement, {"numbers": list(server_ids)})
