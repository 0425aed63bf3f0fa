"""The first tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from leasehold.books.types import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

EXACT: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
POOLS = ("floatingips", "hosts")


def upgrade() -> None:
    """Make the books: what is promised to whom, when, and what has to be done about it."""
    op.create_table(
        "idempotency_keys",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "key", name=op.f("pk_idempotency_keys")),
        **EXACT,
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])

    op.create_table(
        "leases",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("start_at", UtcDateTime(), nullable=False),
        sa.Column("end_at", UtcDateTime(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("degraded", sa.Boolean(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        **EXACT,
    )
    op.create_index("ix_leases_deleted_at_end_at", "leases", ["deleted_at", "end_at"])
    op.create_index("ix_leases_project_id_deleted_at", "leases", ["project_id", "deleted_at"])

    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("event_type", sa.String(length=66), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        **EXACT,
    )
    op.create_index("ix_outbox_lease_id", "outbox", ["lease_id"])

    pools = op.create_table(
        "pools",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_pools")),
        **EXACT,
    )
    op.create_table(
        "property_definitions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("resource_type", sa.String(length=66), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_property_definitions")),
        sa.UniqueConstraint("resource_type", "name", name=op.f("uq_property_definitions_resource_type_name")),
        **EXACT,
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=36), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=True),
        sa.Column("claimed_by", sa.String(length=64), nullable=True),
        sa.Column("claim_until", UtcDateTime(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("kind", "subject", name=op.f("uq_tasks_kind_subject")),
        **EXACT,
    )
    op.create_index("ix_tasks_due_at", "tasks", ["due_at"])

    op.create_table(
        "events",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=66), nullable=False),
        sa.Column("time", UtcDateTime(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name=op.f("fk_events_lease_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        **EXACT,
    )
    op.create_index("ix_events_lease_id", "events", ["lease_id"])

    op.create_table(
        "reservations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("resource_type", sa.String(length=66), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("missing_resources", sa.Boolean(), nullable=False),
        sa.Column("resources_changed", sa.Boolean(), nullable=False),
        sa.Column("cloud", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name=op.f("fk_reservations_lease_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
        **EXACT,
    )
    op.create_index("ix_reservations_lease_id", "reservations", ["lease_id"])

    op.create_table(
        "resources",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("alive", sa.Integer(), nullable=True),
        sa.Column("type", sa.String(length=66), nullable=False),
        sa.Column("pool", sa.String(length=64), nullable=False),
        sa.Column("reference", sa.String(length=255), nullable=False),
        sa.Column("capacity", sa.JSON(), nullable=False),
        sa.Column("max_unit", sa.JSON(), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("traits", sa.JSON(), nullable=False),
        sa.Column("reservable", sa.Boolean(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["pool"], ["pools.name"], name=op.f("fk_resources_pool")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_resources")),
        sa.UniqueConstraint("type", "id", "alive", name=op.f("uq_resources_type_id_alive")),
        sa.UniqueConstraint("type", "reference", "alive", name=op.f("uq_resources_type_reference_alive")),
        **EXACT,
    )
    op.create_index("ix_resources_pool_generation", "resources", ["pool", "generation"])

    op.create_table(
        "allocations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("pool", sa.String(length=64), nullable=False),
        sa.Column("reservation_id", sa.String(length=36), nullable=False),
        sa.Column("lease_id", sa.String(length=36), nullable=False),
        sa.Column("resource_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("demand", sa.Text(), nullable=True),
        sa.Column("released_at", UtcDateTime(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["pools.name"], name=op.f("fk_allocations_pool")),
        sa.ForeignKeyConstraint(["reservation_id"], ["reservations.id"], name=op.f("fk_allocations_reservation_id")),
        sa.ForeignKeyConstraint(["resource_number"], ["resources.number"], name=op.f("fk_allocations_resource_number")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allocations")),
        **EXACT,
    )
    op.create_index("ix_allocations_lease_id", "allocations", ["lease_id"])
    op.create_index("ix_allocations_pool_generation", "allocations", ["pool", "generation"])
    op.create_index("ix_allocations_reservation_id", "allocations", ["reservation_id"])
    op.create_index("ix_allocations_resource_number_ends_at", "allocations", ["resource_number", "ends_at"])

    op.create_table(
        "resource_properties",
        sa.Column("resource_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["resource_number"], ["resources.number"], name=op.f("fk_resource_properties_resource_number")
        ),
        sa.PrimaryKeyConstraint("resource_number", "name", name=op.f("pk_resource_properties")),
        **EXACT,
    )
    op.create_index("ix_resource_properties_name", "resource_properties", ["name"])
    op.bulk_insert(pools, [{"name": name, "generation": 0} for name in POOLS])


def downgrade() -> None:
    """Remove all tables, with what is in them; their indexes go along."""
    for name in (
        "resource_properties",
        "allocations",
        "resources",
        "reservations",
        "events",
        "tasks",
        "property_definitions",
        "pools",
        "outbox",
        "leases",
        "idempotency_keys",
    ):
        op.drop_table(name)
