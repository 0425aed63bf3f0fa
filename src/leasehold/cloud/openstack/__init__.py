"""OpenStack behind the ports: one module for each service's part, and the only importer of openstacksdk."""
