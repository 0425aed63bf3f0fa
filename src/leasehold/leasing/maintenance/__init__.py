"""Windows in which hosts are promised to nobody else, and what becomes of the leases that have them then."""
