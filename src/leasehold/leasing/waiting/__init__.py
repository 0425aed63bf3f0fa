"""Leases that wait for resources: who comes first, what is held for them, and the tries."""
