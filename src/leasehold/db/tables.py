"""The tables of the database (design §3).

An ended or deleted lease keeps its rows until `leasehold-manage purge`. `alive` is 1 for an enrolled resource and NULL
for a removed one, so a unique key with it lets a removed host be enrolled again, on every database. Allocations store
their window in whole seconds since the epoch: there may be a million of them, and plain integers load an order of
magnitude faster than dates and compare the same on every database. The columns of leases, reservations and events stand
in `db/columns/lease_columns.py`.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Computed,
    Constraint,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from leasehold.db.columns.lasting import lasting
from leasehold.db.columns.lease_columns import EVENT, LEASE, RESERVATION
from leasehold.db.types import CONVENTION, COUNTED, EXACT, BigKey, UtcDateTime

PURGED: Final = "purged"
"""In the `info` of a table: columns, of which each says since when a row has been over, and may be purged."""
RECORD: Final = "record"
"""In the `info` of a table of the record: the column that says since when a row has been over, in seconds."""
metadata = MetaData(naming_convention=CONVENTION)


def table(name: str, *parts: Column[Any] | Constraint | Index, **options: Any) -> Table:
    """Return a new table of the database; its names compare exactly, and its indexes are named by the convention."""
    return Table(name, metadata, *parts, **EXACT, **options)


schema_compatibility = table(
    "schema_compatibility",
    Column("oldest", String(32), primary_key=True),
)
"""One row: the first revision whose code works on this schema (`schema.check`)."""

pools = table(
    "pools",
    Column("name", String(64), primary_key=True),
    Column("generation", BigInteger, nullable=False, default=0),
    Column("nonces", String(2000), nullable=False, server_default=""),
    Column("waiting", Boolean),
)

clock = table(
    "clock",
    Column("name", String(16), primary_key=True),
    Column("seen_at", UtcDateTime),
    Column("accepted_at", UtcDateTime),
)

project_use = table(
    "project_use",
    Column("project_id", String(255), primary_key=True),
    Column("turns", BigInteger, nullable=False, default=0),
    Column("leases", BigInteger),
    Column("hosts", BigInteger),
    Column("vcpus", BigInteger),
    Column("memory_mb", BigInteger),
    Column("floating_ips", BigInteger),
    Column("counted_at", UtcDateTime),
)

resources = table(
    "resources",
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
    Column("changed_at", UtcDateTime),
    Column("disabled", Boolean),
    Column("disabled_reason", String(255)),
    Column("membership", String(16)),
    Column("membership_since", UtcDateTime),
    Column("membership_reason", String(500)),
    Column("held_for", String(36)),
    Column("projects", JSON(none_as_null=True)),
    Column("owner", String(255)),
    Column("waking_seconds", Integer),
    Column("waking_since", UtcDateTime),
    UniqueConstraint("type", "id", "alive"),
    UniqueConstraint("type", "reference", "alive"),
    Index(None, "pool", "generation"),
    **COUNTED,
)

property_definitions = table(
    "property_definitions",
    Column("id", String(36), primary_key=True),
    Column("resource_type", String(66), nullable=False),
    Column("name", String(64), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    UniqueConstraint("resource_type", "name"),
)

resource_properties = table(
    "resource_properties",
    Column("resource_number", ForeignKey("resources.number"), primary_key=True),
    Column("name", String(64), primary_key=True, index=True),
    Column("value", Text, nullable=False),
)

leases = table(
    "leases",
    *(each.column for each in LEASE),
    # See `db/columns/holding.py`. It is NULL if a process that does not know the others wrote the lease.
    Column("holds_for", BigInteger, Computed("CASE WHEN holds_noted = generation THEN holds_length END")),
    Index(None, "project_id", "holds_for", "holds_from"),
    Index(None, "parent_id"),
    Index(None, "waiting_since"),
    Index(None, "remind_at"),
    Index(None, "offered_until"),
    Index(None, "published_offer"),
    Index(None, "project_id", "deleted_at", "created_at", "id"),
    Index(None, "deleted_at", "created_at", "id"),
    Index(None, "deleted_at", "end_at"),
    Index(None, "updated_at"),
)

reservations = table(
    "reservations",
    *(each.column for each in RESERVATION),
    Index(None, "lease_id"),
)

allocations = table(
    "allocations",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("pool", ForeignKey("pools.name"), nullable=False),
    Column("reservation_id", ForeignKey("reservations.id"), nullable=False, index=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("resource_number", ForeignKey("resources.number"), nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("demand", Text),
    Column("released_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    Column("left_at", UtcDateTime),
    Column("substitute", Boolean),
    Column("recorded_until", BigInteger),
    Column("start_cause", String(16)),
    lasting(),
    Index(None, "pool", "generation"),
    Index(None, "resource_number", "ends_at"),
    Index(None, "pool", "lasts", "starts_at", "ends_at"),
    Index(None, "pool", "released_at", "ends_at"),
    **COUNTED,
)

# No foreign keys: a segment outlives the lease and the resource that it is about.
segments = table(
    "segments",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("reservation_id", String(36), nullable=False),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("resource_type", String(66), nullable=False),
    Column("resource_number", BigInteger, nullable=False),
    Column("resource", String(255), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("demand", Text),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
    Column("start_cause", String(16)),
    Column("end_cause", String(16)),
    Column("purpose", String(255)),
    Column("written_at", UtcDateTime, nullable=False),
    lasting(),
    Index(None, "project_id", "ends_at"),
    Index(None, "resource_type", "lasts", "starts_at", "ends_at"),
    **COUNTED,
)

events = table(
    "events",
    *(each.column for each in EVENT),
    Index(None, "lease_id"),
)

tasks = table(
    "tasks",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("kind", String(32), nullable=False),
    Column("subject", String(36), nullable=False),
    Column("due_at", UtcDateTime, index=True),
    Column("claimed_by", String(64)),
    Column("claim_until", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("last_error", Text),
    Column("project_id", String(255)),
    Column("refusals", Integer, nullable=False, server_default="0"),
    UniqueConstraint("kind", "subject"),
    **COUNTED,
)

# The event log. A row has no position and no nonce before it is sequenced (`db/event_log.py`). An event of a resource
# has an empty lease and an empty project; one of a lease has no resource; one of an alarm has a project, but no lease
# and no resource. `lease_state` is what `payload` does not say of the lease.
outbox = table(
    "outbox",
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("event_type", String(66), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("generation", BigInteger),
    Column("resource_type", String(66)),
    Column("resource_id", String(36)),
    Column("position", BigInteger, index=True),
    Column("nonce", String(16)),
    Column("lease_state", JSON(none_as_null=True)),
    Index(None, "project_id", "position"),
    **COUNTED,
)

# States of leases after changes that have no event. Like an event, one belongs to its lease and is purged with it.
lease_states = table(
    "lease_states",
    Column("lease_id", String(36), primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("lease_state", JSON, nullable=False),
)

event_log = table(
    "event_log",
    Column("name", String(16), primary_key=True),
    Column("last", BigInteger, nullable=False),
    Column("nonce", String(16), nullable=False),
    Column("purged", BigInteger, nullable=False),
)
"""One row: the last position and its nonce, and the last position that was purged."""

secret_keys = table(
    "secret_keys",
    Column("name", String(16), primary_key=True),
    Column("value", String(64), nullable=False),
)
"""One row: the key that makes the ids of anonymous rows in the timeline (`features/timeline/rows.py`)."""

subscriptions = table(
    "subscriptions",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False, index=True),
    Column("user_id", String(255), nullable=False),
    Column("all_projects", Boolean, nullable=False),
    Column("channel", String(16), nullable=False),
    Column("target", String(2000), nullable=False),
    Column("secret", String(64), nullable=False),
    Column("event_types", JSON, nullable=False),
    Column("lease_id", String(36)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("refusals", Integer, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("suspended_at", UtcDateTime),
    Column("due_at", UtcDateTime),
    Column("last_error", Text),
    Column("claimed_by", String(64)),
    Column("claim_until", UtcDateTime),
    Column("served_at", UtcDateTime, nullable=False, index=True),
    Column("slow_until", UtcDateTime),
    Column("own", Boolean),
)

dead_letters = table(
    "dead_letters",
    Column("subscription_id", ForeignKey("subscriptions.id"), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", String(36), nullable=False),
    Column("event_type", String(66), nullable=False),
    Column("lease_id", String(36), nullable=False),
    Column("died_at", UtcDateTime, nullable=False),
    Column("error", Text, nullable=False),
)

# How many requests of an hour were refused, by reason; `missing` is how many more would have done (decision 0105).
refusals = table(
    "refusals",
    Column("hour", UtcDateTime, primary_key=True),
    Column("project_id", String(255), primary_key=True),
    Column("operation", String(20), primary_key=True),
    Column("code", String(80), primary_key=True),
    Column("resource_type", String(66), primary_key=True),
    Column("missing", BigInteger, primary_key=True, autoincrement=False),
    Column("refused", BigInteger, nullable=False),
)

idempotency_keys = table(
    "idempotency_keys",
    Column("project_id", String(255), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("request_digest", String(64), nullable=False),
    Column("lease_id", String(36), nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
)
