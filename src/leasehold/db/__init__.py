"""The database: tables, units of work, queries and migrations."""
