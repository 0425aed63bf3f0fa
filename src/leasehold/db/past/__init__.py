"""What was: the record, leases as they were, and what a purge removes."""
