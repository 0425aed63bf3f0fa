"""The sandbox's compute hosts, and the controls that make them fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, or_, select, update

from leasehold.cloud.ports import CloudPermanentError, Hypervisor, ServiceReport
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.machines import IS_UP, SETTLES
from leasehold.cloud.sandbox.port import Port
from leasehold.cloud.sandbox.tables import disabled_services, hypervisors
from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

_ROWS = (
    select(
        *(IS_UP.label("up") if column is hypervisors.c.up else column for column in hypervisors.c),
        disabled_services.c.reason.label("disabled_reason"),
    )
    .select_from(hypervisors)
    .outerjoin(disabled_services, disabled_services.c.service_host == hypervisors.c.service_host)
)
_ALL = _ROWS.order_by(hypervisors.c.id)
_BY_NAME = _ROWS.where(hypervisors.c.hypervisor_hostname == bindparam("reference"))
_BY_NAME_OR_ID = _ROWS.where(
    or_(hypervisors.c.hypervisor_hostname == bindparam("reference"), hypervisors.c.id == bindparam("number"))
)
_BY_SERVICE = _ROWS.where(hypervisors.c.service_host == bindparam("service_host"))
_SET_ENABLED = (
    update(hypervisors).where(hypervisors.c.id == bindparam("number")).values(enabled=bindparam("new_enabled"))
)
_FORGET_REASON = delete(disabled_services).where(disabled_services.c.service_host == bindparam("host"))
_LONGEST_NUMBER = 18
"""A 64-bit key holds every number of this many digits; a longer number is not looked up as an id."""


def to_hypervisor(row: Mapping[Any, Any]) -> Hypervisor:
    """Return the port's value for a row; ids are decimal digits, as Nova's are."""
    values: dict[str, Any] = dict(row)
    given = {"id": str(row["id"]), "up": bool(row["up"]), "disabled_reason": _reason(row)}
    return Hypervisor(**values | given)


def _reason(row: Mapping[Any, Any]) -> str | None:
    return None if row["enabled"] else row["disabled_reason"]


class SandboxHypervisors(Port):
    """Implements `ports.Hypervisors`."""

    group = "hypervisors"

    @verb
    def list(self) -> Sequence[Hypervisor]:
        """Return all hypervisors, by id."""
        with reading(self.engine) as connection:
            return [to_hypervisor(row) for row in connection.execute(_ALL, {"now": self.clock()}).mappings()]

    @verb
    def find(self, reference: str) -> Hypervisor | None:
        """Return the hypervisor with this id or exact hostname."""
        values: dict[str, Any] = {"reference": reference, "now": self.clock()}
        statement = _BY_NAME
        if _is_number(reference):
            statement = _BY_NAME_OR_ID
            values["number"] = int(reference)
        with reading(self.engine) as connection:
            row = connection.execute(statement, values).mappings().first()
        return None if row is None else to_hypervisor(row)

    @verb
    def disable(self, service_host: str, reason: str) -> None:
        """Disable a host that is enabled; raises CloudPermanentError for an unknown one."""
        with writing(self.engine) as connection:
            row = self._row(connection, service_host)
            if row is None:
                raise CloudPermanentError(f"sandbox hypervisors.disable: there is no compute service on {service_host}")
            if row["enabled"]:
                connection.execute(_FORGET_REASON, {"host": service_host})
                values = {"service_host": service_host, "reason": reason}
                connection.execute(insert(disabled_services).values(values))
                connection.execute(_SET_ENABLED, {"number": row["id"], "new_enabled": False})

    @verb
    def enable(self, service_host: str, *reasons: str) -> None:
        """Enable a host that is disabled with one of these reasons."""
        with writing(self.engine) as connection:
            row = self._row(connection, service_host)
            if row is not None and _reason(row) in reasons:
                connection.execute(_SET_ENABLED, {"number": row["id"], "new_enabled": True})

    @verb
    def report(self, service_host: str) -> ServiceReport:
        """Return now as the last report of a host that is up, and when its machine stopped of another one."""
        with reading(self.engine) as connection:
            row = self._row(connection, service_host)
            stopped = connection.execute(SETTLES, {"host": service_host}).scalar()
        if row is None:
            return ServiceReport(up=False, at=None)
        return ServiceReport(bool(row["up"]), self.clock() if row["up"] else stopped, _reason(row))

    def _row(self, connection: Connection, service_host: str) -> RowMapping | None:
        found = connection.execute(_BY_SERVICE, {"service_host": service_host, "now": self.clock()})
        return found.mappings().first()

    def fail(self, reference: str) -> Hypervisor:
        """Take a host down: no server starts there any more, and monitors see it (contract resources §7.2)."""
        return self.set_health(reference, up=False)

    def recover(self, reference: str) -> Hypervisor:
        """Bring a host back, up and enabled."""
        return self.set_health(reference, up=True, enabled=True)

    def set_health(self, reference: str, *, up: bool | None = None, enabled: bool | None = None) -> Hypervisor:
        """Change whether a host is up and whether it is enabled; None leaves a value unchanged.

        This is an operator's doing: a host that it disables has no reason, and only an operator enables it again.
        `reference` is an id, a hypervisor hostname or a service host. Raises CloudPermanentError for an unknown one.
        """
        wanted = [hypervisors.c.hypervisor_hostname == reference, hypervisors.c.service_host == reference]
        if _is_number(reference):
            wanted.append(hypervisors.c.id == int(reference))
        changes = {name: value for name, value in (("up", up), ("enabled", enabled)) if value is not None}
        with writing(self.engine) as connection:
            row = connection.execute(_ROWS.where(or_(*wanted)), {"now": self.clock()}).mappings().first()
            if row is None:
                raise CloudPermanentError(f"sandbox hypervisors: there is no host {reference}")
            if changes:
                connection.execute(update(hypervisors).where(hypervisors.c.id == row["id"]).values(changes))
            if enabled is None:
                return to_hypervisor({**row, **changes})
            connection.execute(_FORGET_REASON, {"host": row["service_host"]})
            return to_hypervisor({**row, **changes, "disabled_reason": None})


def _is_number(reference: str) -> bool:
    return reference.isascii() and reference.isdecimal() and len(reference) <= _LONGEST_NUMBER
