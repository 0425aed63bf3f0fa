"""The machines under the sandbox's hosts, as their management controllers switch them. They are no port of a cloud."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, exists, insert, or_, select, union, update

from leasehold.cloud.ports import CloudPermanentError
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import Port
from leasehold.cloud.sandbox.tables import hypervisors, machines, storage_services
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

_RUNS = or_(
    and_(machines.c.is_on, machines.c.settles_at <= bindparam("now")),
    and_(~machines.c.is_on, machines.c.settles_at > bindparam("now")),
)


def runs(host: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that the machine of a host is on at `now`, and has booted."""
    return ~exists().where(machines.c.service_host == host, ~_RUNS)


IS_UP = and_(hypervisors.c.up, runs(hypervisors.c.service_host))
"""True for hosts that work, whose machines are on at `now` and have booted."""
_ROW = select(machines).where(machines.c.service_host == bindparam("host"))
_KNOWN = union(
    select(hypervisors.c.service_host).where(hypervisors.c.service_host == bindparam("host")),
    select(storage_services.c.host).where(storage_services.c.host == bindparam("host")),
    select(machines.c.service_host).where(machines.c.service_host == bindparam("host")),
)
SETTLES = select(machines.c.settles_at).where(machines.c.service_host == bindparam("host"))
"""Until when a machine boots or shuts down, or since when it does no more."""


class SandboxMachines(Port):
    """Switches machines, which boot and shut down as long as was set, and may be stuck; named by service host."""

    group = "machines"

    @verb
    def is_on(self, service_host: str) -> bool:
        """Return whether a machine has power: from the command on, and until it has shut down."""
        with reading(self.engine) as connection:
            row = self._row(connection, service_host)
        return row is None or row.is_on or row.settles_at > self.clock()

    @verb
    def switch_on(self, service_host: str) -> None:
        """Switch a machine on; one that is on, also if it shuts down just now, stays as it is."""
        with writing(self.engine) as connection:
            row, now = self._row(connection, service_host), self.clock()
            if row is not None and not row.stuck and not row.is_on and row.settles_at <= now:
                self._settle(connection, row, now, is_on=True)

    @verb
    def shut_down(self, service_host: str) -> None:
        """Let the system of a machine shut it down."""
        with writing(self.engine) as connection:
            row = self._row(connection, service_host) or self._insert(connection, service_host)
            if not row.stuck and row.is_on:
                self._settle(connection, row, self.clock(), is_on=False)

    @verb
    def switch_off(self, service_host: str) -> None:
        """Take the power from a machine."""
        with writing(self.engine) as connection:
            row = self._row(connection, service_host) or self._insert(connection, service_host)
            if not row.stuck:
                self._change(connection, service_host, is_on=False, settles_at=self.clock())

    def set(self, service_host: str, *, seconds: int | None = None, stuck: bool | None = None) -> None:
        """Set how long a machine takes to boot or shut down, and whether it does nothing; None leaves a value."""
        values = {name: value for name, value in (("seconds", seconds), ("stuck", stuck)) if value is not None}
        with writing(self.engine) as connection:
            if self._row(connection, service_host) is None:
                self._insert(connection, service_host)
            self._change(connection, service_host, **values)

    def _row(self, connection: Connection, service_host: str) -> Row[Any] | None:
        if connection.execute(_KNOWN, {"host": service_host}).first() is None:
            raise CloudPermanentError(f"sandbox machines: there is no machine {service_host}")
        return connection.execute(_ROW, {"host": service_host}).first()

    def _insert(self, connection: Connection, service_host: str) -> Row[Any]:
        values = {"service_host": service_host, "is_on": True, "settles_at": self.clock(), "seconds": 0, "stuck": False}
        connection.execute(insert(machines), values)
        return connection.execute(_ROW, {"host": service_host}).one()

    def _settle(self, connection: Connection, row: Row[Any], now: datetime, *, is_on: bool) -> None:
        self._change(connection, row.service_host, is_on=is_on, settles_at=now + timedelta(seconds=row.seconds))

    def _change(self, connection: Connection, service_host: str, **values: Any) -> None:
        connection.execute(update(machines).where(machines.c.service_host == service_host).values(**values))
