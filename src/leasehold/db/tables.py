"""The tables of the database (design §3).

An ended or deleted lease keeps its rows until `leasehold-manage purge`. `alive` is 1 for an enrolled resource and NULL
for a removed one, so a unique key with it lets a removed host be enrolled again, on every database. Allocations store
their window in whole seconds since the epoch: there may be a million of them, and plain integers load an order of
magnitude faster than dates and compare the same on every database.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from leasehold.db.types import COUNTED, EXACT, BigKey, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

schema_compatibility = Table(
    "schema_compatibility",
    metadata,
    Column("oldest", String(32), primary_key=True),
    **EXACT,
)
"""One row: the first revision whose code works on this schema (`schema.check`)."""

pools = Table(
    "pools",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("generation", BigInteger, nullable=False, default=0),
    Column("nonces", String(2000), nullable=False, server_default=""),
    **EXACT,
)

clock = Table(
    "clock",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("seen_at", UtcDateTime),
    Column("accepted_at", UtcDateTime),
    **EXACT,
)

# This version does not use it. Older processes beside it still write to it, so a later version removes it.
projects = Table(
    "projects",
    metadata,
    Column("id", String(255), primary_key=True),
    Column("generation", BigInteger, nullable=False, default=0),
    **EXACT,
)

project_use = Table(
    "project_use",
    metadata,
    Column("project_id", String(255), primary_key=True),
    Column("turns", BigInteger, nullable=False, default=0),
    Column("leases", BigInteger),
    Column("hosts", BigInteger),
    Column("vcpus", BigInteger),
    Column("memory_mb", BigInteger),
    Column("floating_ips", BigInteger),
    Column("counted_at", UtcDateTime),
    **EXACT,
)

resources = Table(
    "resources",
    metadata,
    Column("number", BigKey, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False),
    Column("alive", Integer),
    Column("type", String(66), nullable=False),
    Column("pool", ForeignKey("pools.name"), nullable=False),
    Column("reference", String(255), nullable=False),
    Column("capacity", JSON, nullable=False),
    Column("max_unit", JSON, nullable=False),
    Column("attributes", JSON, nullable=False),
    Column("traits", JSON, nullable=False),
    Column("reservable", Boolean, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    Column("health", String(16)),
    Column("down_since", UtcDateTime),
    UniqueConstraint("type", "id", "alive"),
    UniqueConstraint("type", "reference", "alive"),
    Index("ix_resources_pool_generation", "pool", "generation"),
    **EXACT,
    **COUNTED,
)

property_definitions = Table(
    "property_definitions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("resource_type", String(66), nullable=False),
    Column("name", String(64), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    UniqueConstraint("resource_type", "name"),
    **EXACT,
)

resource_properties = Table(
    "resource_properties",
    metadata,
    Column("resource_number", ForeignKey("resources.number"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Index("ix_resource_properties_name", "name"),
    **EXACT,
)

leases = Table(
    "leases",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("start_at", UtcDateTime, nullable=False),
    Column("end_at", UtcDateTime, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text),
    Column("degraded", Boolean, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    Index("ix_leases_project_id_deleted_at", "project_id", "deleted_at"),
    Index("ix_leases_deleted_at_end_at", "deleted_at", "end_at"),
    **EXACT,
)

reservations = Table(
    "reservations",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("lease_id", ForeignKey("leases.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("resource_id", String(36), nullable=False),
    Column("request", JSON, nullable=False),
    Column("status", String(16), nullable=False),
    Column("missing_resources", Boolean, nullable=False),
    Column("resources_changed", Boolean, nullable=False),
    Column("cloud", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Index("ix_reservations_lease_id", "lease_id"),
    **EXACT,
)

allocations = Table(
    "allocations",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("pool", ForeignKey("pools.name"), nullable=False),
    Column("reservation_id", ForeignKey("reservations.id"), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("resource_number", ForeignKey("resources.number"), nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("demand", Text),
    Column("released_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    Column("left_at", UtcDateTime),
    Index("ix_allocations_pool_generation", "pool", "generation"),
    Index("ix_allocations_reservation_id", "reservation_id"),
    Index("ix_allocations_lease_id", "lease_id"),
    Index("ix_allocations_resource_number_ends_at", "resource_number", "ends_at"),
    **EXACT,
    **COUNTED,
)

events = Table(
    "events",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("lease_id", ForeignKey("leases.id"), nullable=False),
    Column("type", String(66), nullable=False),
    Column("time", UtcDateTime),
    Column("status", String(16)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Index("ix_events_lease_id", "lease_id"),
    **EXACT,
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("kind", String(32), nullable=False),
    Column("subject", String(36), nullable=False),
    Column("due_at", UtcDateTime),
    Column("claimed_by", String(64)),
    Column("claim_until", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("last_error", Text),
    Column("project_id", String(255)),
    Column("refusals", Integer, nullable=False, server_default="0"),
    UniqueConstraint("kind", "subject"),
    Index("ix_tasks_due_at", "due_at"),
    **EXACT,
    **COUNTED,
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("lease_id", String(36), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("event_type", String(66), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_outbox_lease_id", "lease_id"),
    **EXACT,
    **COUNTED,
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("project_id", String(255), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("request_digest", String(64), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_idempotency_keys_lease_id", "lease_id"),
    **EXACT,
)
