"""The sandbox cloud's own tables: in the same database as Leasehold's, but without references between the two.

The sandbox makes them where it is the cloud (`create`); no migration of Leasehold's knows them.

Rows describe the present only: a deletion removes them. Names compare exactly on every database, as in Nova and
Placement; MariaDB needs `EXACT` for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Constraint,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.exc import DBAPIError

from leasehold.db.types import CONVENTION, COUNTED, EXACT, BigKey, UtcDateTime

if TYPE_CHECKING:
    from sqlalchemy import Engine

metadata = MetaData(naming_convention=CONVENTION)
NAME = String(255)
ID = String(64)


def _table(name: str, *parts: Column[Any] | Constraint | Index, counted: bool = False) -> Table:
    """Return a table; `counted` if its keys are never used again."""
    return Table(f"sandbox_{name}", metadata, *parts, **EXACT, **(COUNTED if counted else {}))


state = _table(
    "state",
    Column("name", ID, primary_key=True),
    Column("value", JSON, nullable=False),
)
"""Settings, and rows that serve as locks, such as `scheduler`."""

hypervisors = _table(
    "hypervisors",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("hypervisor_hostname", NAME, nullable=False),
    Column("service_host", NAME, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("memory_mb", Integer, nullable=False),
    Column("local_gb", Integer, nullable=False),
    Column("cpu_info", Text, nullable=False),
    Column("hypervisor_type", String(64), nullable=False),
    Column("hypervisor_version", Integer, nullable=False),
    Column("zone", NAME, nullable=False),
    Column("up", Boolean, nullable=False),
    Column("enabled", Boolean, nullable=False),
    UniqueConstraint("hypervisor_hostname"),
    UniqueConstraint("service_host"),
    counted=True,
)

disabled_services = _table(
    "disabled_services",
    Column("service_host", NAME, primary_key=True),
    Column("reason", Text, nullable=False),
)
"""Why a compute service is disabled, where a reason was given. Counts only while the hypervisor is not enabled."""

machines = _table(
    "machines",
    Column("service_host", NAME, primary_key=True),
    Column("is_on", Boolean, nullable=False),
    Column("settles_at", UtcDateTime, nullable=False),
    Column("seconds", Integer, nullable=False),
    Column("stuck", Boolean, nullable=False),
)
"""The machines of hosts: whether each is to be on, and until when it boots, or shuts down, which take its `seconds`.

One that is stuck accepts every command and does nothing. A host without a row is on.
"""

storage_services = _table(
    "storage_services",
    Column("name", NAME, primary_key=True),
    Column("host", NAME, nullable=False),
    Column("zone", NAME, nullable=False),
    Column("disabled_reason", Text),
    Index("ix_sandbox_storage_services_host", "host"),
)
"""The services that keep volumes, each on a machine; one with a reason is disabled."""

volumes = _table(
    "volumes",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("service", NAME),
    Column("moves", Boolean, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    counted=True,
)
"""Volumes, and on which service each is, none yet: NULL. One that `moves` goes nobody knows where."""

aggregates = _table(
    "aggregates",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("name", NAME, nullable=False),
    Column("zone", NAME),
    Column("metadata", JSON, nullable=False),
    UniqueConstraint("name"),
    counted=True,
)

aggregate_hosts = _table(
    "aggregate_hosts",
    Column("aggregate_id", ForeignKey("sandbox_aggregates.id"), primary_key=True),
    Column("service_host", NAME, primary_key=True),
    Index("ix_sandbox_aggregate_hosts_service_host", "service_host"),
)

flavors = _table(
    "flavors",
    Column("id", NAME, primary_key=True),
    Column("name", NAME, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("memory_mb", Integer, nullable=False),
    Column("disk_gb", Integer, nullable=False),
    Column("ephemeral_gb", Integer, nullable=False),
    Column("swap_mb", Integer, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("extra_specs", JSON, nullable=False),
    UniqueConstraint("name"),
)

flavor_access = _table(
    "flavor_access",
    Column("flavor_id", ForeignKey("sandbox_flavors.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", NAME, primary_key=True),
)

servers = _table(
    "servers",
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False),
    Column("project_id", NAME, nullable=False),
    Column("flavor_id", NAME, nullable=False),
    Column("service_host", NAME),
    Column("status", String(16), nullable=False),
    Column("preemptible", Boolean, nullable=False),
    Column("fault", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("gone_at", UtcDateTime),
    Index("ix_sandbox_servers_service_host", "service_host"),
    Index("ix_sandbox_servers_flavor_id", "flavor_id"),
    Index("ix_sandbox_servers_gone_at", "gone_at"),
)
"""The request to delete a server sets `gone_at`, the time from which it no longer exists. A flavor may be deleted while
its servers run, as in Nova, so `flavor_id` is not a foreign key."""

snapshots = _table(
    "snapshots",
    Column("id", ID, primary_key=True),
    Column("server_id", ID, nullable=False),
    Column("project_id", NAME, nullable=False),
    Column("reservation_id", NAME, nullable=False),
    Column("name", NAME, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("ready_at", UtcDateTime, nullable=False),
    Column("failed", Boolean, nullable=False),
    Index("ix_sandbox_snapshots_server_id", "server_id"),
    Index("ix_sandbox_snapshots_reservation_id", "reservation_id"),
)
"""Images of servers; an image is uploading until `ready_at`, which may be in the future. `project_id` is the project
that it is meant for."""

image_owners = _table(
    "image_owners",
    Column("image_id", ID, primary_key=True),
    Column("project_id", NAME, nullable=False),
)
"""The projects that images were handed over to; all others belong to the service."""

resource_classes = _table("resource_classes", Column("name", NAME, primary_key=True))

providers = _table(
    "providers",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("name", NAME, nullable=False),
    Column("parent_id", ForeignKey("sandbox_providers.id")),
    UniqueConstraint("name"),
    Index("ix_sandbox_providers_parent_id", "parent_id"),
    counted=True,
)

inventories = _table(
    "inventories",
    Column("provider_id", ForeignKey("sandbox_providers.id", ondelete="CASCADE"), primary_key=True),
    Column("resource_class", ForeignKey("sandbox_resource_classes.name"), primary_key=True),
    Column("total", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("min_unit", Integer, nullable=False),
    Column("max_unit", Integer, nullable=False),
    Column("step_size", Integer, nullable=False),
    Column("allocation_ratio", Float, nullable=False),
    Index("ix_sandbox_inventories_resource_class", "resource_class"),
)

traits = _table(
    "traits",
    Column("provider_id", ForeignKey("sandbox_providers.id", ondelete="CASCADE"), primary_key=True),
    Column("trait", NAME, primary_key=True),
)

usages = _table(
    "usages",
    Column("server_id", ForeignKey("sandbox_servers.id", ondelete="CASCADE"), primary_key=True),
    Column("resource_class", NAME, primary_key=True),
    Column("provider_id", ForeignKey("sandbox_providers.id"), nullable=False),
    Column("amount", Integer, nullable=False),
    Index("ix_sandbox_usages_provider_id", "provider_id"),
)
"""What each server uses, from which provider; each class comes from one provider, as in Placement."""

hints = _table(
    "hints",
    Column("server_id", ForeignKey("sandbox_servers.id", ondelete="CASCADE"), primary_key=True),
    Column("reservation", NAME, primary_key=True),
)
"""The reservations that a server's boot named; they count again when it moves."""

moves = _table(
    "moves",
    Column("server_id", ForeignKey("sandbox_servers.id", ondelete="CASCADE"), primary_key=True),
    Column("resource_class", NAME, primary_key=True),
    Column("service_host", NAME, nullable=False),
    Column("provider_id", ForeignKey("sandbox_providers.id"), nullable=False),
    Column("amount", Integer, nullable=False),
    Column("done_at", UtcDateTime, nullable=False),
    Index("ix_sandbox_moves_service_host", "service_host"),
    Index("ix_sandbox_moves_provider_id", "provider_id"),
)
"""Where a server that migrates still is, and what it uses there, until `done_at`. Its own row names the new host."""

shelved = _table(
    "shelved",
    Column("server_id", ForeignKey("sandbox_servers.id", ondelete="CASCADE"), primary_key=True),
    Column("done_at", UtcDateTime, nullable=False),
    Column("amounts", JSON, nullable=False),
)
"""The servers that are shelved: from when, and what they used by resource class, which they will need again."""

suspended = _table(
    "suspended",
    Column("server_id", ForeignKey("sandbox_servers.id", ondelete="CASCADE"), primary_key=True),
    Column("done_at", UtcDateTime, nullable=False),
)
"""The servers that are suspended, and from when."""

claims = _table(
    "claims",
    Column("provider_id", ForeignKey("sandbox_providers.id", ondelete="CASCADE"), primary_key=True),
    Column("resource_class", NAME, primary_key=True),
    Column("amount", Integer, nullable=False),
)
"""What Leasehold has claimed of a provider, so that nothing lands there."""

networks = _table(
    "networks",
    Column("id", ID, primary_key=True),
    Column("name", NAME, nullable=False),
)

subnets = _table(
    "subnets",
    Column("id", ID, primary_key=True),
    Column("network_id", ForeignKey("sandbox_networks.id"), nullable=False),
    Column("cidr", String(64), nullable=False),
    Column("gateway", String(64)),
    Column("allocation_pools", JSON, nullable=False),
    Index("ix_sandbox_subnets_network_id", "network_id"),
)

floating_ips = _table(
    "floating_ips",
    Column("id", ID, primary_key=True),
    Column("network_id", ForeignKey("sandbox_networks.id"), nullable=False),
    Column("subnet_id", ForeignKey("sandbox_subnets.id"), nullable=False),
    Column("address", String(64), nullable=False),
    Column("project_id", NAME, nullable=False),
    Column("port_id", ID),
    UniqueConstraint("network_id", "address"),
)

floating_ip_tags = _table(
    "floating_ip_tags",
    Column("floating_ip_id", ForeignKey("sandbox_floating_ips.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", NAME, primary_key=True),
    Index("ix_sandbox_floating_ip_tags_tag", "tag"),
)

ports = _table(
    "ports",
    Column("id", ID, primary_key=True),
    Column("network_id", ForeignKey("sandbox_networks.id"), nullable=False),
    Column("address", String(64), nullable=False),
    Column("owner", NAME, nullable=False),
    UniqueConstraint("network_id", "address"),
)
"""The ports that have an address and are no floating IP's."""

faults = _table(
    "faults",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("verb", NAME, nullable=False),
    Column("latency_ms", Integer, nullable=False),
    Column("error", String(8), nullable=False),
    Column("permanent", Boolean, nullable=False),
    Column("remaining", Integer),
    counted=True,
)


def create(engine: Engine) -> None:
    """Create the sandbox's tables that do not exist yet; several processes may do so at once."""
    try:
        metadata.create_all(engine)
    except DBAPIError:
        # Another process has made the same table a moment ago.
        metadata.create_all(engine)
