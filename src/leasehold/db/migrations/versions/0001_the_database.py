"""The first tables: resources, leases, reservations, allocations, events, tasks and what goes with them."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import BIG_KEY, MOMENT, add_rows, make_table, remove_tables

revision = "0001"
down_revision = None

TABLES = (
    "idempotency_keys",
    "leases",
    "outbox",
    "pools",
    "property_definitions",
    "tasks",
    "events",
    "reservations",
    "resources",
    "allocations",
    "resource_properties",
)
POOLS = ("floatingips", "hosts")


def upgrade() -> None:
    """Make the tables, and the rows of the pools."""
    make_table(
        "idempotency_keys",
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("request_digest", sa.String(64), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "key", name="pk_idempotency_keys"),
        indexes=(("lease_id",),),
    )
    make_table(
        "leases",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("start_at", MOMENT, nullable=False),
        sa.Column("end_at", MOMENT, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("status_reason", sa.Text()),
        sa.Column("degraded", sa.Boolean(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.Column("deleted_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
        indexes=(
            ("deleted_at", "end_at"),
            ("project_id", "deleted_at"),
        ),
    )
    make_table(
        "outbox",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("event_type", sa.String(66), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        indexes=(("lease_id",),),
        counted=True,
    )
    make_table(
        "pools",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_pools"),
    )
    make_table(
        "property_definitions",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_property_definitions"),
        sa.UniqueConstraint("resource_type", "name", name="uq_property_definitions_resource_type_name"),
    )
    make_table(
        "tasks",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(36), nullable=False),
        sa.Column("due_at", MOMENT),
        sa.Column("claimed_by", sa.String(64)),
        sa.Column("claim_until", MOMENT),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
        sa.UniqueConstraint("kind", "subject", name="uq_tasks_kind_subject"),
        indexes=(("due_at",),),
        counted=True,
    )
    make_table(
        "events",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("type", sa.String(66), nullable=False),
        sa.Column("time", MOMENT),
        sa.Column("status", sa.String(16)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_events_lease_id"),
        indexes=(("lease_id",),),
    )
    make_table(
        "reservations",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("resource_type", sa.String(66), nullable=False),
        sa.Column("resource_id", sa.String(36), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("missing_resources", sa.Boolean(), nullable=False),
        sa.Column("resources_changed", sa.Boolean(), nullable=False),
        sa.Column("cloud", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_reservations"),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_reservations_lease_id"),
        indexes=(("lease_id",),),
    )
    make_table(
        "resources",
        sa.Column("number", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("alive", sa.Integer()),
        sa.Column("type", sa.String(66), nullable=False),
        sa.Column("pool", sa.String(64), nullable=False),
        sa.Column("reference", sa.String(255), nullable=False),
        sa.Column("capacity", sa.JSON(), nullable=False),
        sa.Column("max_unit", sa.JSON(), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("traits", sa.JSON(), nullable=False),
        sa.Column("reservable", sa.Boolean(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT),
        sa.Column("deleted_at", MOMENT),
        sa.PrimaryKeyConstraint("number", name="pk_resources"),
        sa.UniqueConstraint("type", "id", "alive", name="uq_resources_type_id_alive"),
        sa.UniqueConstraint("type", "reference", "alive", name="uq_resources_type_reference_alive"),
        sa.ForeignKeyConstraint(["pool"], ["pools.name"], name="fk_resources_pool"),
        indexes=(("pool", "generation"),),
        counted=True,
    )
    make_table(
        "allocations",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("pool", sa.String(64), nullable=False),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("lease_id", sa.String(36), nullable=False),
        sa.Column("resource_number", BIG_KEY, nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("demand", sa.Text()),
        sa.Column("released_at", MOMENT),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_allocations"),
        sa.ForeignKeyConstraint(["pool"], ["pools.name"], name="fk_allocations_pool"),
        sa.ForeignKeyConstraint(["reservation_id"], ["reservations.id"], name="fk_allocations_reservation_id"),
        sa.ForeignKeyConstraint(["resource_number"], ["resources.number"], name="fk_allocations_resource_number"),
        indexes=(
            ("lease_id",),
            ("pool", "generation"),
            ("reservation_id",),
            ("resource_number", "ends_at"),
        ),
        counted=True,
    )
    make_table(
        "resource_properties",
        sa.Column("resource_number", BIG_KEY, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("resource_number", "name", name="pk_resource_properties"),
        sa.ForeignKeyConstraint(
            ["resource_number"], ["resources.number"], name="fk_resource_properties_resource_number"
        ),
        indexes=(("name",),),
    )
    add_rows("pools", "name", [{"name": name, "generation": 0} for name in POOLS])


def downgrade() -> None:
    """Remove all of these tables with their rows."""
    remove_tables(reversed(TABLES))
