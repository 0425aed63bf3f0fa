"""Nova scheduler filter that lets only the projects that hold leases use the reserved hosts and flavors."""
