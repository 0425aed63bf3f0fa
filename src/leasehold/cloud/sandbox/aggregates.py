"""The sandbox's host aggregates, with Nova's rules about zones.

Nova refuses (409) a change that would put a host into two zones, and since 2024.1 also one that would change the zone
of a host with servers, because a server cannot change its zone. Both raise CloudTransientError here: they pass when the
host leaves the other aggregate or its servers are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, bindparam, delete, exists, insert, select, update

from leasehold.cloud.ports import Aggregate, CloudPermanentError, CloudTransientError, merged
from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import HOST_NOW, STILL_THERE, Port, is_on, with_all
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, hypervisors, servers
from leasehold.db.engine import alone, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

_WITH_HOSTS = select(aggregates, aggregate_hosts.c.service_host).outerjoin(aggregate_hosts)
_ALL = _WITH_HOSTS.order_by(aggregates.c.id)
_ONE = _WITH_HOSTS.where(aggregates.c.name == bindparam("aggregate_name"))
_ROW = select(aggregates).where(aggregates.c.name == bindparam("aggregate_name"))
_ROW_FOR_CHANGE = _ROW.with_for_update()
_ANY_MEMBER = select(aggregate_hosts.c.service_host).where(aggregate_hosts.c.aggregate_id == bindparam("id")).limit(1)
_HAS_SERVERS = exists().where(is_on(lambda host: host == bindparam("service_host")), STILL_THERE)
_ZONES_AND_SERVERS = (
    select(aggregates.c.id, aggregates.c.zone, _HAS_SERVERS.label("has_servers"))
    .select_from(hypervisors)
    .outerjoin(aggregate_hosts, aggregate_hosts.c.service_host == hypervisors.c.service_host)
    .outerjoin(aggregates, aggregates.c.id == aggregate_hosts.c.aggregate_id)
    .where(hypervisors.c.service_host == bindparam("service_host"))
)
"""One row for each aggregate of a host, or one without an aggregate."""
_WITH_HOST_FOR_CHANGE = (
    select(aggregates)
    .join(hypervisors, hypervisors.c.service_host == bindparam("service_host"))
    .where(aggregates.c.name == bindparam("aggregate_name"))
    .with_for_update()
)
"""Two aggregates of different zones must not both see a host without a zone."""
_OTHER = aggregates.alias("other")
_OTHER_MEMBER = aggregate_hosts.alias("other_member")
_MEMBERS_ELSEWHERE = (
    select(aggregate_hosts.c.service_host, _OTHER.c.zone)
    .join(_OTHER_MEMBER, _OTHER_MEMBER.c.service_host == aggregate_hosts.c.service_host)
    .join(_OTHER, _OTHER.c.id == _OTHER_MEMBER.c.aggregate_id)
    .where(and_(aggregate_hosts.c.aggregate_id == bindparam("id"), _OTHER.c.id != bindparam("id")))
    .where(_OTHER.c.zone.is_not(None), _OTHER.c.zone != bindparam("zone"))
    .limit(1)
)
_MEMBER_WITH_SERVERS = (
    select(aggregate_hosts.c.service_host)
    .select_from(aggregate_hosts)
    .join(servers, aggregate_hosts.c.service_host == HOST_NOW)
    .where(aggregate_hosts.c.aggregate_id == bindparam("id"), STILL_THERE)
    .limit(1)
)
_ADD_AGGREGATE = insert(aggregates)
_ADD_HOST = insert(aggregate_hosts)
_REMOVE_HOST = delete(aggregate_hosts).where(
    aggregate_hosts.c.aggregate_id == bindparam("id"), aggregate_hosts.c.service_host == bindparam("host")
)
_REMOVE_WITHOUT_ZONE = delete(aggregate_hosts).where(
    aggregate_hosts.c.aggregate_id
    == select(aggregates.c.id)
    .where(aggregates.c.name == bindparam("aggregate_name"), aggregates.c.zone.is_(None))
    .scalar_subquery(),
    aggregate_hosts.c.service_host == bindparam("host"),
)
"""No server changes zone by this, so nothing has to be read first."""
_CHANGE = update(aggregates).where(aggregates.c.id == bindparam("aggregate_id"))
_CHANGE = _CHANGE.values(zone=bindparam("new_zone"), metadata=bindparam("new_metadata"))
_DELETE = delete(aggregates).where(aggregates.c.id == bindparam("aggregate_id"))


class SandboxAggregates(Port):
    """Implements `ports.Aggregates`. The zone is not repeated in the metadata."""

    group = "aggregates"

    @verb
    def get(self, name: str) -> Aggregate | None:
        """Return the aggregate, or None."""
        return self._find(name)

    @verb
    def list(self) -> Sequence[Aggregate]:
        """Return all aggregates, by id."""
        with alone(self.engine) as connection:
            return _to_aggregates(connection.execute(_ALL).mappings().all())

    @verb
    def ensure(self, name: str, zone: str | None, metadata: Mapping[str, str | None]) -> Aggregate:
        """Create the aggregate, or update its zone and metadata to these values; other metadata stays.

        A key whose value is None is removed.
        """
        # Most calls change nothing, so look first, without a lock.
        present = self._find(name)
        if present is not None and present.zone == zone and merged(present.metadata, metadata) == present.metadata:
            return present
        if present is None:
            return self._create(name, zone, merged({}, metadata))
        with writing(self.engine) as connection:
            row = connection.execute(_ROW_FOR_CHANGE, {"aggregate_name": name}).mappings().first()
            if row is None:
                raise CloudTransientError(f"sandbox aggregates.ensure: aggregate {name} has just been deleted")
            if row["zone"] != zone or merged(row["metadata"], metadata) != row["metadata"]:
                if row["zone"] != zone:
                    self._check_new_zone(connection, row, zone)
                wanted = merged(row["metadata"], metadata)
                values = {"aggregate_id": row["id"], "new_zone": zone, "new_metadata": wanted}
                connection.execute(_CHANGE, values)
            return _to_aggregates(connection.execute(_ONE, {"aggregate_name": name}).mappings().all())[0]

    @verb
    def add_host(self, name: str, service_host: str) -> None:
        """Add the host to the aggregate.

        Raises CloudPermanentError when the aggregate or the host does not exist, and CloudTransientError when the host
        would be in two zones or its servers would change zone.
        """
        with writing(self.engine) as connection:
            both = {"aggregate_name": name, "service_host": service_host}
            row = connection.execute(_WITH_HOST_FOR_CHANGE, both).mappings().first()
            if row is None:
                known = connection.execute(_ROW, {"aggregate_name": name}).first() is not None
                lacking = f"compute service on {service_host}" if known else f"aggregate {name}"
                raise CloudPermanentError(f"sandbox aggregates.add_host: there is no {lacking}")
            zones, has_servers = self._zones_of(connection, service_host)
            if row["id"] in zones:
                return
            if row["zone"] is not None and row["zone"] not in zones.values():
                present = set(zones.values()) - {None}
                _check_zone_of_host(service_host, row["zone"], present, has_servers=has_servers)
            connection.execute(_ADD_HOST, {"aggregate_id": row["id"], "service_host": service_host})

    @verb
    def remove_host(self, name: str, service_host: str) -> None:
        """Remove the host from the aggregate; raises CloudTransientError when its servers would change zone."""
        with alone(self.engine, writes=True) as connection:
            if connection.execute(_REMOVE_WITHOUT_ZONE, {"aggregate_name": name, "host": service_host}).rowcount:
                return
        with writing(self.engine) as connection:
            row = connection.execute(_ROW, {"aggregate_name": name}).mappings().first()
            if row is None or row["zone"] is None:
                return
            self._check_leaving(connection, row, service_host)
            connection.execute(_REMOVE_HOST, {"id": row["id"], "host": service_host})

    @verb
    def delete(self, name: str) -> None:
        """Delete the aggregate; raises CloudPermanentError while it has members."""
        with writing(self.engine) as connection:
            row = connection.execute(_ROW_FOR_CHANGE, {"aggregate_name": name}).mappings().first()
            if row is None:
                return
            if connection.execute(_ANY_MEMBER, {"id": row["id"]}).first() is not None:
                raise CloudPermanentError(f"sandbox aggregates.delete: aggregate {name} still has hosts")
            connection.execute(_DELETE, {"aggregate_id": row["id"]})

    def _find(self, name: str) -> Aggregate | None:
        with alone(self.engine) as connection:
            found = _to_aggregates(connection.execute(_ONE, {"aggregate_name": name}).mappings().all())
        return found[0] if found else None

    def _create(self, name: str, zone: str | None, metadata: Mapping[str, str]) -> Aggregate:
        with alone(self.engine, writes=True) as connection:
            made = connection.execute(_ADD_AGGREGATE, {"name": name, "zone": zone, "metadata": metadata})
        number: int = made.inserted_primary_key[0]  # type: ignore[index]  # Every database returns it.
        return Aggregate(number, name, zone, metadata, frozenset())

    def _check_leaving(self, connection: Connection, row: RowMapping, host: str) -> None:
        zones, has_servers = self._zones_of(connection, host)
        stays = row["zone"] in [zone for number, zone in zones.items() if number != row["id"]]
        if row["id"] in zones and not stays and has_servers:
            text = f"sandbox aggregates.remove_host: servers on {host} would leave zone {row['zone']}"
            raise CloudTransientError(text)

    def _check_new_zone(self, connection: Connection, row: RowMapping, zone: str | None) -> None:
        if zone is None:
            text = f"sandbox aggregates.ensure: aggregate {row['name']} cannot lose its zone {row['zone']}"
            raise CloudTransientError(text)
        clash = connection.execute(_MEMBERS_ELSEWHERE, {"id": row["id"], "zone": zone}).first() if zone else None
        if clash is not None:
            text = f"sandbox aggregates.ensure: host {clash.service_host} is in zone {clash.zone}, not {zone}"
            raise CloudTransientError(text)
        busy = connection.execute(_MEMBER_WITH_SERVERS, {"id": row["id"], "now": self.clock()}).first()
        if busy is not None:
            raise CloudTransientError(f"sandbox aggregates.ensure: servers on {busy.service_host} would change zone")

    def _zones_of(self, connection: Connection, host: str) -> tuple[dict[int, str | None], bool]:
        """Return the aggregates of a host by id, each with its zone, and whether the host has servers."""
        rows = connection.execute(_ZONES_AND_SERVERS, {"service_host": host, "now": self.clock()}).all()
        return {row.id: row.zone for row in rows if row.id is not None}, any(row.has_servers for row in rows)


def _check_zone_of_host(host: str, zone: str, present: set[str | None], *, has_servers: bool) -> None:
    if present:
        other = ", ".join(sorted(map(str, present)))
        raise CloudTransientError(f"sandbox aggregates.add_host: host {host} is in zone {other}, not {zone}")
    if has_servers:
        raise CloudTransientError(f"sandbox aggregates.add_host: servers on {host} would move to zone {zone}")


def _to_aggregates(rows: Sequence[RowMapping]) -> list[Aggregate]:
    """Group the joined rows, one per member, into aggregates."""
    return [
        Aggregate(row["id"], row["name"], row["zone"], row["metadata"], hosts)
        for row, hosts in with_all(rows, "service_host")
    ]
