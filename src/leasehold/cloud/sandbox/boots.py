"""How a server gets to a host of the sandbox, in Nova's steps: the scheduler's filters, the claim, the landing.

Nova decides with what it has read a moment before, and then claims the resources at Placement, which may refuse; the
server is on its host still later. Tests take the steps one by one, to let something happen in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import bindparam, delete, insert, select, update

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Flavor, Server
from leasehold.cloud.sandbox.flavors import find_flavor
from leasehold.cloud.sandbox.hosts import read_hosts
from leasehold.cloud.sandbox.machines import IS_UP
from leasehold.cloud.sandbox.port import MOVING, STILL_THERE
from leasehold.cloud.sandbox.scheduler import HostState, Needs, choose, needs_of
from leasehold.cloud.sandbox.tables import aggregates, hints, hypervisors, moves, servers, shelved, suspended, usages
from leasehold_nova.decision import PREEMPTIBLE_KEY, FilterOptions, Request, hints_for, truthy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

ROW = select(servers, MOVING.label("moving")).where(servers.c.id == bindparam("server"), STILL_THERE)
_MOVE = update(servers).where(servers.c.id == bindparam("server")).values(service_host=bindparam("new_host"))
USAGES = select(usages).where(usages.c.server_id == bindparam("server"))
_HINTS = select(hints.c.reservation).where(hints.c.server_id == bindparam("server"))
_AGGREGATES = select(aggregates.c.name, aggregates.c.metadata)
_UP = select(IS_UP).where(hypervisors.c.service_host == bindparam("host"))
FORGET_PLACE = tuple(
    delete(table).where(table.c.server_id.in_(bindparam("numbers", expanding=True))) for table in (usages, moves)
)
_FORGET_REST = tuple(
    delete(table).where(table.c.server_id.in_(bindparam("numbers", expanding=True)))
    for table in (hints, shelved, suspended)
)
_FORGET_SERVERS = delete(servers).where(servers.c.id.in_(bindparam("numbers", expanding=True)))


@dataclass(frozen=True, slots=True)
class BootOrder:
    """What a user asks for; `preemptible` acts like the flavor's extra spec `blazar:preemptible`."""

    name: str
    project_id: str
    flavor_id: str
    hints: tuple[str, ...] = ()
    preemptible: bool = False


@dataclass(frozen=True, slots=True)
class Boot:
    """A boot whose host is chosen: the server on it, what it will use, and of which provider; nothing is claimed yet.

    Where no host was found, the server is in ERROR, and `fault` says why.
    """

    server: Server
    amounts: Mapping[str, int]
    providers: Mapping[str, int]
    hints: tuple[str, ...]
    fault: str | None


def choose_host(connection: Connection, order: BootOrder, options: FilterOptions, now: datetime) -> Boot:
    """Choose the host of a new server; raises CloudPermanentError if the project may not use the flavor."""
    flavor = _usable_flavor(connection, order.flavor_id, order.project_id)
    specs = dict(flavor.extra_specs) | ({PREEMPTIBLE_KEY: "true"} if order.preemptible else {})
    needs = needs_of(flavor)
    request = Request(order.project_id, order.hints, flavor.id, specs)
    hosts, total = hosts_for(connection, needs, now)
    choice = choose(request, needs, hosts, total, options)
    server = Server(
        id=str(uuid4()),
        name=order.name,
        project_id=order.project_id,
        flavor_id=flavor.id,
        service_host=choice.service_host,
        status="ERROR" if choice.service_host is None else "ACTIVE",
        preemptible=truthy(specs.get(PREEMPTIBLE_KEY)),
        created_at=now,
    )
    return Boot(server, needs.amounts, choice.providers, order.hints, choice.reason)


def store(connection: Connection, boot: Boot) -> None:
    """Store the server on its host, with what it uses."""
    values = {name: getattr(boot.server, name) for name in Server.__dataclass_fields__}
    connection.execute(insert(servers).values({**values, "fault": boot.fault}))
    use(connection, boot.server.id, boot.amounts, boot.providers)
    if boot.hints:
        named = [{"server_id": boot.server.id, "reservation": each} for each in dict.fromkeys(boot.hints)]
        connection.execute(insert(hints), named)


def move(connection: Connection, server_id: str, options: FilterOptions, now: datetime, done_at: datetime) -> None:
    """Move a server to another host, where it is from `done_at` on; its own row names the new host at once.

    Raises CloudTransientError for a server that is not ACTIVE, CloudPermanentError if there is no other host for it.
    """
    call = f"sandbox servers.migrate: server {server_id}"
    row = connection.execute(ROW, {"server": server_id, "now": now}).mappings().first()
    if row is None:
        return
    if row["moving"]:
        raise CloudTransientError(f"{call} is on its way to another host")
    if row["status"] != "ACTIVE":
        raise CloudTransientError(f"{call} is {row['status']}, and only one that is ACTIVE can move")
    if not connection.execute(_UP, {"host": row["service_host"], "now": now}).scalar_one():
        raise CloudPermanentError(f"{call} cannot move: its host {row['service_host']} is down")
    used = connection.execute(USAGES, {"server": server_id}).mappings().all()
    needs, request = wants(connection, row, {each["resource_class"]: each["amount"] for each in used})
    hosts, total = hosts_for(connection, needs, now)
    others = [host for host in hosts if host.service_host != row["service_host"]]
    choice = choose(request, needs, others, total, options)
    if choice.service_host is None:
        raise CloudPermanentError(f"{call} cannot move: {choice.reason}")
    for statement in FORGET_PLACE:
        connection.execute(statement, {"numbers": [server_id]})
    use(connection, server_id, needs.amounts, choice.providers)
    connection.execute(_MOVE, {"server": server_id, "new_host": choice.service_host})
    if done_at > now and used:
        held = [{**each, "service_host": row["service_host"], "done_at": done_at} for each in used]
        connection.execute(insert(moves), held)


def use(connection: Connection, server_id: str, amounts: Mapping[str, int], sources: Mapping[str, int]) -> None:
    """Store what a server uses, and of which providers."""
    rows = [
        {"server_id": server_id, "resource_class": name, "provider_id": number, "amount": amounts[name]}
        for name, number in sources.items()
    ]
    if rows:
        connection.execute(insert(usages), rows)


def forget(connection: Connection, server_ids: Sequence[str]) -> None:
    """Remove the rows of servers and of their usage."""
    if server_ids:
        for statement in (*FORGET_PLACE, *_FORGET_REST, _FORGET_SERVERS):
            connection.execute(statement, {"numbers": list(server_ids)})


def hosts_for(connection: Connection, needs: Needs, now: datetime) -> tuple[Sequence[HostState], int]:
    """Return the hosts that are up and enabled, as far as these needs ask about them, and the number of all hosts."""
    traits_matter = bool(needs.required or needs.forbidden)
    return read_hosts(connection, needs.amounts.keys(), now, with_traits=traits_matter)


def wants(connection: Connection, row: RowMapping, used: Mapping[str, int]) -> tuple[Needs, Request]:
    """Return what a server needs elsewhere: its flavor may be gone, but what it uses is known, by resource class."""
    flavor = find_flavor(connection, row["flavor_id"])
    needs = Needs(used) if flavor is None else needs_of(flavor)
    specs = dict(flavor.extra_specs) if flavor else {}
    if row["preemptible"]:
        specs[PREEMPTIBLE_KEY] = "true"
    named = tuple(connection.execute(_HINTS, {"server": row["id"]}).scalars())
    there = connection.execute(_AGGREGATES).all() if named else ()
    over = frozenset(named).difference(*(hints_for(name, metadata) for name, metadata in there))
    return needs, Request(row["project_id"], named, row["flavor_id"], specs, over=over)


def _usable_flavor(connection: Connection, flavor_id: str, project_id: str) -> Flavor:
    flavor = find_flavor(connection, flavor_id)
    if flavor is None:
        raise CloudPermanentError(f"sandbox servers.boot: there is no flavor {flavor_id}")
    if not flavor.public and project_id not in flavor.projects:
        raise CloudPermanentError(f"sandbox servers.boot: project {project_id} may not use flavor {flavor_id}")
    return flavor
