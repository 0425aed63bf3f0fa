"""The HTTP API: one table of routes, one pipeline."""
