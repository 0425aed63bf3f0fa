"""The audit: check the database for consistency, compare the cloud with it, and repair differences where possible."""
