"""Nova scheduler filter that keeps reserved hosts and flavours to the projects that hold the leases."""
