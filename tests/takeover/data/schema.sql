-- Blazar's database as its own migrations make it (revision 553383923ca0), written for SQLite.

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    PRIMARY KEY (version_num)
);

CREATE TABLE computehosts (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    vcpus INTEGER NOT NULL,
    cpu_info TEXT NOT NULL,
    hypervisor_type TEXT NOT NULL,
    hypervisor_version INTEGER NOT NULL,
    hypervisor_hostname VARCHAR(255),
    memory_mb INTEGER NOT NULL,
    local_gb INTEGER NOT NULL,
    status VARCHAR(13),
    service_name VARCHAR(255),
    trust_id VARCHAR(36) NOT NULL,
    reservable BOOLEAN DEFAULT 1 NOT NULL,
    availability_zone VARCHAR(255) NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE floatingips (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    floating_network_id VARCHAR(255) NOT NULL,
    subnet_id VARCHAR(255) NOT NULL,
    floating_ip_address VARCHAR(255) NOT NULL,
    reservable BOOLEAN DEFAULT 1 NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE leases (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    name VARCHAR(80) NOT NULL,
    user_id VARCHAR(255),
    project_id VARCHAR(255),
    start_date DATETIME NOT NULL,
    end_date DATETIME NOT NULL,
    trust_id VARCHAR(36),
    status VARCHAR(255),
    degraded BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE resource_properties (
    id VARCHAR(36) NOT NULL,
    resource_type VARCHAR(255) NOT NULL,
    property_name VARCHAR(255) NOT NULL,
    private BOOLEAN DEFAULT 0 NOT NULL,
    created_at DATETIME,
    updated_at DATETIME,
    PRIMARY KEY (id)
);

CREATE TABLE computehost_extra_capabilities (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    computehost_id VARCHAR(36),
    capability_value TEXT NOT NULL,
    property_id VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT computehost_extra_capabilities_ibfk_1 FOREIGN KEY(computehost_id) REFERENCES computehosts (id),
    CONSTRAINT computehost_resource_property_id_fk FOREIGN KEY(property_id) REFERENCES resource_properties (id)
);

CREATE TABLE computehost_resource_inventory (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    computehost_id VARCHAR(36),
    resource_class VARCHAR(255) NOT NULL,
    total INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    min_unit INTEGER NOT NULL,
    max_unit INTEGER NOT NULL,
    step_size INTEGER NOT NULL,
    allocation_ratio FLOAT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT computehost_resource_inventory_ibfk_1 FOREIGN KEY(computehost_id) REFERENCES computehosts (id)
);

CREATE TABLE computehost_trait (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    computehost_id VARCHAR(36),
    trait VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT computehost_trait_ibfk_1 FOREIGN KEY(computehost_id) REFERENCES computehosts (id)
);

CREATE TABLE events (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    lease_id VARCHAR(36),
    event_type VARCHAR(66),
    time DATETIME,
    status VARCHAR(13),
    PRIMARY KEY (id),
    CONSTRAINT events_ibfk_1 FOREIGN KEY(lease_id) REFERENCES leases (id)
);

CREATE TABLE reservations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    lease_id VARCHAR(36) NOT NULL,
    resource_id VARCHAR(36),
    resource_type VARCHAR(66),
    status VARCHAR(13),
    missing_resources BOOLEAN DEFAULT 0 NOT NULL,
    resources_changed BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT reservations_ibfk_1 FOREIGN KEY(lease_id) REFERENCES leases (id)
);

CREATE TABLE computehost_allocations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    compute_host_id VARCHAR(36),
    reservation_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT computehost_allocations_ibfk_1 FOREIGN KEY(compute_host_id) REFERENCES computehosts (id),
    CONSTRAINT computehost_allocations_ibfk_2 FOREIGN KEY(reservation_id) REFERENCES reservations (id)
);

CREATE TABLE computehost_reservations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    reservation_id VARCHAR(36),
    resource_properties TEXT,
    count_range VARCHAR(36),
    hypervisor_properties TEXT,
    aggregate_id INTEGER,
    before_end VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT computehost_reservations_ibfk_1 FOREIGN KEY(reservation_id) REFERENCES reservations (id)
);

CREATE TABLE floatingip_allocations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    floatingip_id VARCHAR(36),
    reservation_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT floatingip_allocations_ibfk_1 FOREIGN KEY(floatingip_id) REFERENCES floatingips (id),
    CONSTRAINT floatingip_allocations_ibfk_2 FOREIGN KEY(reservation_id) REFERENCES reservations (id)
);

CREATE TABLE floatingip_reservations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    reservation_id VARCHAR(36),
    network_id VARCHAR(255) NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT floatingip_reservations_ibfk_1 FOREIGN KEY(reservation_id) REFERENCES reservations (id)
);

CREATE TABLE instance_reservations (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    reservation_id VARCHAR(36),
    vcpus INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    disk_gb INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    affinity BOOLEAN,
    flavor_id VARCHAR(36),
    aggregate_id INTEGER,
    server_group_id VARCHAR(36),
    resource_properties TEXT,
    PRIMARY KEY (id),
    CONSTRAINT instance_reservations_ibfk_1 FOREIGN KEY(reservation_id) REFERENCES reservations (id)
);

CREATE TABLE required_floatingips (
    created_at DATETIME,
    updated_at DATETIME,
    id VARCHAR(36) NOT NULL,
    address VARCHAR(255) NOT NULL,
    floatingip_reservation_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT required_floatingips_ibfk_1 FOREIGN KEY(floatingip_reservation_id) REFERENCES floatingip_reservations (id)
);
