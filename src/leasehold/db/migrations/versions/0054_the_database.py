"""The database of the first release, made by one revision (docs/decisions/0120).

The tables of the code say what the columns mean. A server default is for code that does not name the column.
"""

from __future__ import annotations

import secrets

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Integer, String, Text, UniqueConstraint

from leasehold.db.migrations.steps import BIG_KEY, MOMENT, add_rows, make_table, remove_tables

revision = "0054"
down_revision = None

TABLES = (
    *("schema_compatibility", "clock", "secret_keys", "sessions"),
    *("pools", "resources", "property_definitions", "resource_properties"),
    *("leases", "reservations", "events", "allocations", "segments", "tasks", "preemptions"),
    *("event_log", "outbox", "lease_states", "subscriptions", "dead_letters", "feeds", "alarms"),
    *("idempotency_keys", "lease_templates", "series", "published_offers"),
    *("project_use", "refusals", "audit_rounds", "audit_findings"),
)
UNUSED = "projects"
"""A table that databases have which were made before all of this was one revision."""


def upgrade() -> None:
    """Make the tables, and the rows that are there from the beginning."""
    _make_state_of_the_service()
    _make_resources()
    _make_leases()
    _make_the_calendar()
    _make_tasks()
    _make_the_event_log()
    _make_listeners()
    _make_requests()
    _make_statistics()
    _add_first_rows()


def downgrade() -> None:
    """Remove the tables with their rows."""
    remove_tables([UNUSED, *reversed(TABLES)])


def _make_state_of_the_service() -> None:
    make_table("schema_compatibility", Column("oldest", String(32), primary_key=True))
    make_table(
        "clock",
        Column("name", String(16), primary_key=True),
        Column("seen_at", MOMENT),
        Column("accepted_at", MOMENT),
    )
    make_table(
        "secret_keys",
        Column("name", String(16), primary_key=True),
        Column("value", String(64), nullable=False),
    )
    make_table(
        "sessions",
        Column("digest", String(64), primary_key=True),
        Column("user_id", String(255), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("seen_at", MOMENT, nullable=False),
        Column("expires_at", MOMENT, nullable=False),
        Column("sealed", Text, nullable=False),
        indexes=(("user_id",), ("expires_at",)),
    )


def _make_resources() -> None:
    make_table(
        "pools",
        Column("name", String(64), primary_key=True),
        Column("generation", BigInteger, nullable=False),
        Column("nonces", String(2000), nullable=False, server_default=""),
        Column("waiting", Boolean),
    )
    make_table(
        "resources",
        Column("number", BIG_KEY, primary_key=True, autoincrement=True),
        Column("id", String(36), nullable=False),
        Column("alive", Integer),
        Column("type", String(66), nullable=False),
        Column("pool", String(64), ForeignKey("pools.name"), nullable=False),
        Column("reference", String(255), nullable=False),
        Column("capacity", JSON, nullable=False),
        Column("max_unit", JSON, nullable=False),
        Column("attributes", JSON, nullable=False),
        Column("traits", JSON, nullable=False),
        Column("reservable", Boolean, nullable=False),
        Column("generation", BigInteger, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        Column("deleted_at", MOMENT),
        Column("health", String(16)),
        Column("down_since", MOMENT),
        Column("changed_at", MOMENT),
        Column("disabled", Boolean),
        Column("disabled_reason", String(255)),
        Column("membership", String(16)),
        Column("membership_since", MOMENT),
        Column("membership_reason", String(500)),
        Column("held_for", String(36)),
        Column("projects", JSON),
        Column("owner", String(255)),
        UniqueConstraint("type", "id", "alive"),
        UniqueConstraint("type", "reference", "alive"),
        indexes=(("pool", "generation"),),
        counted=True,
    )
    make_table(
        "property_definitions",
        Column("id", String(36), primary_key=True),
        Column("resource_type", String(66), nullable=False),
        Column("name", String(64), nullable=False),
        Column("private", Boolean, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        UniqueConstraint("resource_type", "name"),
    )
    make_table(
        "resource_properties",
        Column("resource_number", BIG_KEY, ForeignKey("resources.number"), primary_key=True),
        Column("name", String(64), primary_key=True),
        Column("value", Text, nullable=False),
        indexes=(("name",),),
    )


def _make_leases() -> None:
    make_table(
        "leases",
        Column("id", String(36), primary_key=True),
        Column("name", String(80), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("start_at", MOMENT, nullable=False),
        Column("end_at", MOMENT, nullable=False),
        Column("status", String(16), nullable=False),
        Column("status_reason", Text),
        Column("degraded", Boolean, nullable=False),
        Column("generation", BigInteger, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        Column("deleted_at", MOMENT),
        Column("heal_policy", String(24)),
        Column("reminded", Integer),
        Column("type", String(16)),
        Column("waiting", JSON),
        Column("waiting_since", MOMENT),
        Column("at_risk", Boolean),
        Column("reminders", JSON),
        Column("remind_at", MOMENT),
        Column("offered_until", MOMENT),
        Column("published_offer", String(36)),
        Column("parent_id", String(36)),
        indexes=(
            *(("project_id", "deleted_at"), ("deleted_at", "end_at"), ("updated_at",), ("waiting_since",)),
            *(("remind_at",), ("offered_until",), ("published_offer",), ("parent_id",)),
        ),
    )
    make_table(
        "reservations",
        Column("id", String(36), primary_key=True),
        Column("lease_id", String(36), ForeignKey("leases.id"), nullable=False),
        Column("position", Integer, nullable=False),
        Column("resource_type", String(66), nullable=False),
        Column("resource_id", String(36), nullable=False),
        Column("request", JSON, nullable=False),
        Column("status", String(16), nullable=False),
        Column("missing_resources", Boolean, nullable=False),
        Column("resources_changed", Boolean, nullable=False),
        Column("cloud", JSON, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        Column("missing", Integer),
        Column("ending", JSON),
        Column("no_show", JSON),
        Column("default_properties", JSON),
        indexes=(("lease_id",),),
    )
    make_table(
        "events",
        Column("id", String(36), primary_key=True),
        Column("lease_id", String(36), ForeignKey("leases.id"), nullable=False),
        Column("type", String(66), nullable=False),
        Column("time", MOMENT),
        Column("status", String(16)),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        indexes=(("lease_id",),),
    )


def _make_the_calendar() -> None:
    make_table(
        "allocations",
        Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        Column("pool", String(64), ForeignKey("pools.name"), nullable=False),
        Column("reservation_id", String(36), ForeignKey("reservations.id"), nullable=False),
        Column("lease_id", String(36), nullable=False),
        Column("resource_number", BIG_KEY, ForeignKey("resources.number"), nullable=False),
        Column("starts_at", BigInteger, nullable=False),
        Column("ends_at", BigInteger, nullable=False),
        Column("slots", Integer, nullable=False),
        Column("demand", Text),
        Column("released_at", MOMENT),
        Column("generation", BigInteger, nullable=False),
        Column("left_at", MOMENT),
        Column("recorded_until", BigInteger),
        Column("start_cause", String(16)),
        Column("substitute", Boolean),
        indexes=(("pool", "generation"), ("reservation_id",), ("lease_id",), ("resource_number", "ends_at")),
        counted=True,
    )
    make_table(
        "segments",
        Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        Column("lease_id", String(36), nullable=False),
        Column("reservation_id", String(36), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("resource_type", String(66), nullable=False),
        Column("resource_number", BigInteger, nullable=False),
        Column("resource", String(255), nullable=False),
        Column("slots", Integer, nullable=False),
        Column("demand", Text),
        Column("starts_at", BigInteger, nullable=False),
        Column("ends_at", BigInteger, nullable=False),
        Column("start_cause", String(16)),
        Column("end_cause", String(16)),
        Column("written_at", MOMENT, nullable=False),
        indexes=(("lease_id",), ("project_id", "ends_at"), ("ends_at",)),
        counted=True,
    )


def _make_tasks() -> None:
    make_table(
        "tasks",
        Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        Column("kind", String(32), nullable=False),
        Column("subject", String(36), nullable=False),
        Column("due_at", MOMENT),
        Column("claimed_by", String(64)),
        Column("claim_until", MOMENT),
        Column("attempts", Integer, nullable=False),
        Column("last_error", Text),
        Column("project_id", String(255)),
        Column("refusals", Integer, nullable=False, server_default="0"),
        UniqueConstraint("kind", "subject"),
        indexes=(("due_at",),),
        counted=True,
    )
    make_table(
        "preemptions",
        Column("server_id", String(255), primary_key=True),
        Column("server_name", String(255), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("ends_at", MOMENT, nullable=False),
        Column("told_at", MOMENT, nullable=False),
    )


def _make_the_event_log() -> None:
    make_table(
        "event_log",
        Column("name", String(16), primary_key=True),
        Column("last", BigInteger, nullable=False),
        Column("nonce", String(16), nullable=False),
        Column("purged", BigInteger, nullable=False),
    )
    make_table(
        "outbox",
        Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        Column("lease_id", String(36), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("event_type", String(66), nullable=False),
        Column("payload", JSON, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("generation", BigInteger),
        Column("resource_type", String(66)),
        Column("resource_id", String(36)),
        Column("position", BigInteger),
        Column("nonce", String(16)),
        Column("lease_state", JSON),
        indexes=(("lease_id",), ("position",), ("project_id", "position")),
        counted=True,
    )
    make_table(
        "lease_states",
        Column("lease_id", String(36), primary_key=True),
        Column("generation", BigInteger, primary_key=True, autoincrement=False),
        Column("changed_at", MOMENT, nullable=False),
        Column("payload", JSON, nullable=False),
        Column("lease_state", JSON, nullable=False),
    )


def _make_listeners() -> None:
    make_table(
        "subscriptions",
        Column("id", String(36), primary_key=True),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("all_projects", Boolean, nullable=False),
        Column("channel", String(16), nullable=False),
        Column("target", String(2000), nullable=False),
        Column("secret", String(64), nullable=False),
        Column("event_types", JSON, nullable=False),
        Column("lease_id", String(36)),
        Column("created_at", MOMENT, nullable=False),
        Column("position", BigInteger, nullable=False),
        Column("failures", Integer, nullable=False),
        Column("refusals", Integer, nullable=False),
        Column("failing_since", MOMENT),
        Column("suspended_at", MOMENT),
        Column("due_at", MOMENT),
        Column("last_error", Text),
        Column("claimed_by", String(64)),
        Column("claim_until", MOMENT),
        Column("served_at", MOMENT, nullable=False),
        Column("slow_until", MOMENT),
        Column("own", Boolean),
        indexes=(("project_id",), ("served_at",)),
    )
    make_table(
        "dead_letters",
        Column("subscription_id", String(36), ForeignKey("subscriptions.id"), primary_key=True),
        Column("position", BigInteger, primary_key=True, autoincrement=False),
        Column("event_id", String(36), nullable=False),
        Column("event_type", String(66), nullable=False),
        Column("lease_id", String(36), nullable=False),
        Column("died_at", MOMENT, nullable=False),
        Column("error", Text, nullable=False),
    )
    make_table(
        "feeds",
        Column("id", String(36), primary_key=True),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("name", String(80), nullable=False),
        Column("own", Boolean, nullable=False),
        Column("digest", String(64), nullable=False),
        Column("created_at", MOMENT, nullable=False),
        indexes=(("project_id",),),
    )
    make_table(
        "alarms",
        Column("id", String(36), primary_key=True),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("name", String(80), nullable=False),
        Column("reservation", JSON, nullable=False),
        Column("request", JSON, nullable=False),
        Column("below", BigInteger, nullable=False),
        Column("duration", BigInteger, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("generation", BigInteger, nullable=False),
        Column("low", Boolean),
        Column("available", BigInteger),
        Column("reason", Text),
        Column("changed_at", MOMENT),
        Column("checked_at", MOMENT),
        indexes=(("project_id",),),
    )


def _make_requests() -> None:
    make_table(
        "idempotency_keys",
        Column("project_id", String(255), primary_key=True),
        Column("key", String(255), primary_key=True),
        Column("request_digest", String(64), nullable=False),
        Column("lease_id", String(36), nullable=False),
        Column("created_at", MOMENT, nullable=False),
        indexes=(("lease_id",),),
    )
    make_table(
        "lease_templates",
        Column("id", String(36), primary_key=True),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("scope", String(255), nullable=False),
        Column("name", String(80), nullable=False),
        Column("description", Text, nullable=False),
        Column("request", JSON, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        Column("generation", BigInteger, nullable=False),
        UniqueConstraint("scope", "name"),
    )
    make_table(
        "series",
        Column("id", String(36), primary_key=True),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("name", String(80), nullable=False),
        Column("rule", Text, nullable=False),
        Column("time_zone", String(64), nullable=False),
        Column("draft", JSON, nullable=False),
        Column("digest", String(64), nullable=False),
        Column("occurrences", JSON, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("updated_at", MOMENT),
        Column("generation", BigInteger, nullable=False),
        indexes=(("project_id",),),
    )
    make_table(
        "published_offers",
        Column("id", String(36), primary_key=True),
        Column("name", String(80), nullable=False),
        Column("project_id", String(255), nullable=False),
        Column("user_id", String(255), nullable=False),
        Column("resource_number", BigInteger),
        Column("start_at", MOMENT, nullable=False),
        Column("end_at", MOMENT, nullable=False),
        Column("for_project", String(255)),
        Column("created_at", MOMENT, nullable=False),
        Column("deleted_at", MOMENT),
        Column("lease_id", String(36)),
        Column("reservation_id", String(36)),
        Column("amount", Integer),
        indexes=(("resource_number",), ("project_id",), ("lease_id",)),
    )


def _make_statistics() -> None:
    make_table(
        "project_use",
        Column("project_id", String(255), primary_key=True),
        Column("turns", BigInteger, nullable=False),
        Column("leases", BigInteger),
        Column("hosts", BigInteger),
        Column("vcpus", BigInteger),
        Column("memory_mb", BigInteger),
        Column("floating_ips", BigInteger),
        Column("counted_at", MOMENT),
    )
    make_table(
        "refusals",
        Column("hour", MOMENT, primary_key=True),
        Column("project_id", String(255), primary_key=True),
        Column("operation", String(20), primary_key=True),
        Column("code", String(80), primary_key=True),
        Column("resource_type", String(66), primary_key=True),
        Column("missing", BigInteger, primary_key=True, autoincrement=False),
        Column("refused", BigInteger, nullable=False),
    )
    make_table(
        "audit_rounds",
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("began_at", MOMENT, nullable=False),
        Column("ended_at", MOMENT),
        Column("failure", Text),
    )
    make_table(
        "audit_findings",
        Column("position", BigInteger, primary_key=True, autoincrement=False),
        Column("kind", String(20), nullable=False),
        Column("subject", String(255), nullable=False),
        Column("resource_type", String(66)),
        Column("what", Text, nullable=False),
        Column("remedy", Text, nullable=False),
        Column("mend", String(20)),
        Column("repaired", Text),
        Column("found_at", MOMENT, nullable=False),
    )


def _add_first_rows() -> None:
    add_rows("schema_compatibility", "oldest", [{"oldest": revision}])
    add_rows("clock", "name", [{"name": "database"}])
    add_rows("secret_keys", "name", [{"name": "rows", "value": secrets.token_hex(32)}])
    add_rows("event_log", "name", [{"name": "outbox", "last": 0, "nonce": "0" * 16, "purged": 0}])
    nonces = {pool: f"0:{secrets.token_urlsafe(8)}" for pool in ("floatingips", "hosts")}
    add_rows("pools", "name", [{"name": pool, "generation": 0, "nonces": nonce} for pool, nonce in nonces.items()])
