"""The tables of the sandbox cloud; they stay empty where a real cloud is used."""

from __future__ import annotations

import sqlalchemy as sa

from leasehold.db.migrations.steps import BIG_KEY, MOMENT, make_table, remove_tables

revision = "0002"
down_revision = "0001"

TABLES = (
    "sandbox_aggregates",
    "sandbox_faults",
    "sandbox_flavors",
    "sandbox_hypervisors",
    "sandbox_images",
    "sandbox_networks",
    "sandbox_providers",
    "sandbox_resource_classes",
    "sandbox_servers",
    "sandbox_state",
    "sandbox_aggregate_hosts",
    "sandbox_flavor_access",
    "sandbox_inventories",
    "sandbox_subnets",
    "sandbox_traits",
    "sandbox_usages",
    "sandbox_floating_ips",
    "sandbox_floating_ip_tags",
)


def upgrade() -> None:
    """Make the tables; those that `leasehold-manage sandbox plant` made before stay as they are."""
    make_table(
        "sandbox_aggregates",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("zone", sa.String(255)),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_aggregates"),
        sa.UniqueConstraint("name", name="uq_sandbox_aggregates_name"),
        counted=True,
    )
    make_table(
        "sandbox_faults",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("verb", sa.String(255), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(8), nullable=False),
        sa.Column("permanent", sa.Boolean(), nullable=False),
        sa.Column("remaining", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_faults"),
        counted=True,
    )
    make_table(
        "sandbox_flavors",
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("disk_gb", sa.Integer(), nullable=False),
        sa.Column("ephemeral_gb", sa.Integer(), nullable=False),
        sa.Column("swap_mb", sa.Integer(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("extra_specs", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_flavors"),
        sa.UniqueConstraint("name", name="uq_sandbox_flavors_name"),
    )
    make_table(
        "sandbox_hypervisors",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("hypervisor_hostname", sa.String(255), nullable=False),
        sa.Column("service_host", sa.String(255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("local_gb", sa.Integer(), nullable=False),
        sa.Column("cpu_info", sa.Text(), nullable=False),
        sa.Column("hypervisor_type", sa.String(64), nullable=False),
        sa.Column("hypervisor_version", sa.Integer(), nullable=False),
        sa.Column("zone", sa.String(255), nullable=False),
        sa.Column("up", sa.Boolean(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_hypervisors"),
        sa.UniqueConstraint("hypervisor_hostname", name="uq_sandbox_hypervisors_hypervisor_hostname"),
        sa.UniqueConstraint("service_host", name="uq_sandbox_hypervisors_service_host"),
        counted=True,
    )
    make_table(
        "sandbox_images",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("server_id", sa.String(64), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_images"),
        sa.UniqueConstraint("server_id", "name", name="uq_sandbox_images_server_id_name"),
    )
    make_table(
        "sandbox_networks",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_networks"),
    )
    make_table(
        "sandbox_providers",
        sa.Column("id", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("parent_id", BIG_KEY),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_providers"),
        sa.UniqueConstraint("name", name="uq_sandbox_providers_name"),
        sa.ForeignKeyConstraint(["parent_id"], ["sandbox_providers.id"], name="fk_sandbox_providers_parent_id"),
        indexes=(("parent_id",),),
        counted=True,
    )
    make_table(
        "sandbox_resource_classes",
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sandbox_resource_classes"),
    )
    make_table(
        "sandbox_servers",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("flavor_id", sa.String(255), nullable=False),
        sa.Column("service_host", sa.String(255)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("preemptible", sa.Boolean(), nullable=False),
        sa.Column("fault", sa.Text()),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("gone_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_servers"),
        indexes=(
            ("flavor_id",),
            ("gone_at",),
            ("service_host",),
        ),
    )
    make_table(
        "sandbox_state",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sandbox_state"),
    )
    make_table(
        "sandbox_aggregate_hosts",
        sa.Column("aggregate_id", BIG_KEY, nullable=False),
        sa.Column("service_host", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("aggregate_id", "service_host", name="pk_sandbox_aggregate_hosts"),
        sa.ForeignKeyConstraint(
            ["aggregate_id"], ["sandbox_aggregates.id"], name="fk_sandbox_aggregate_hosts_aggregate_id"
        ),
        indexes=(("service_host",),),
    )
    make_table(
        "sandbox_flavor_access",
        sa.Column("flavor_id", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("flavor_id", "project_id", name="pk_sandbox_flavor_access"),
        sa.ForeignKeyConstraint(
            ["flavor_id"], ["sandbox_flavors.id"], name="fk_sandbox_flavor_access_flavor_id", ondelete="CASCADE"
        ),
    )
    make_table(
        "sandbox_inventories",
        sa.Column("provider_id", BIG_KEY, nullable=False),
        sa.Column("resource_class", sa.String(255), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("reserved", sa.Integer(), nullable=False),
        sa.Column("min_unit", sa.Integer(), nullable=False),
        sa.Column("max_unit", sa.Integer(), nullable=False),
        sa.Column("step_size", sa.Integer(), nullable=False),
        sa.Column("allocation_ratio", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("provider_id", "resource_class", name="pk_sandbox_inventories"),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["sandbox_providers.id"], name="fk_sandbox_inventories_provider_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["resource_class"], ["sandbox_resource_classes.name"], name="fk_sandbox_inventories_resource_class"
        ),
        indexes=(("resource_class",),),
    )
    make_table(
        "sandbox_subnets",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("network_id", sa.String(64), nullable=False),
        sa.Column("cidr", sa.String(64), nullable=False),
        sa.Column("gateway", sa.String(64)),
        sa.Column("allocation_pools", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_subnets"),
        sa.ForeignKeyConstraint(["network_id"], ["sandbox_networks.id"], name="fk_sandbox_subnets_network_id"),
        indexes=(("network_id",),),
    )
    make_table(
        "sandbox_traits",
        sa.Column("provider_id", BIG_KEY, nullable=False),
        sa.Column("trait", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("provider_id", "trait", name="pk_sandbox_traits"),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["sandbox_providers.id"], name="fk_sandbox_traits_provider_id", ondelete="CASCADE"
        ),
    )
    make_table(
        "sandbox_usages",
        sa.Column("server_id", sa.String(64), nullable=False),
        sa.Column("resource_class", sa.String(255), nullable=False),
        sa.Column("provider_id", BIG_KEY, nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "resource_class", name="pk_sandbox_usages"),
        sa.ForeignKeyConstraint(["provider_id"], ["sandbox_providers.id"], name="fk_sandbox_usages_provider_id"),
        sa.ForeignKeyConstraint(
            ["server_id"], ["sandbox_servers.id"], name="fk_sandbox_usages_server_id", ondelete="CASCADE"
        ),
        indexes=(("provider_id",),),
    )
    make_table(
        "sandbox_floating_ips",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("network_id", sa.String(64), nullable=False),
        sa.Column("subnet_id", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("port_id", sa.String(64)),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_floating_ips"),
        sa.UniqueConstraint("network_id", "address", name="uq_sandbox_floating_ips_network_id_address"),
        sa.ForeignKeyConstraint(["network_id"], ["sandbox_networks.id"], name="fk_sandbox_floating_ips_network_id"),
        sa.ForeignKeyConstraint(["subnet_id"], ["sandbox_subnets.id"], name="fk_sandbox_floating_ips_subnet_id"),
    )
    make_table(
        "sandbox_floating_ip_tags",
        sa.Column("floating_ip_id", sa.String(64), nullable=False),
        sa.Column("tag", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("floating_ip_id", "tag", name="pk_sandbox_floating_ip_tags"),
        sa.ForeignKeyConstraint(
            ["floating_ip_id"],
            ["sandbox_floating_ips.id"],
            name="fk_sandbox_floating_ip_tags_floating_ip_id",
            ondelete="CASCADE",
        ),
        indexes=(("tag",),),
    )


def downgrade() -> None:
    """Remove all of these tables with their rows."""
    remove_tables(reversed(TABLES))
