"""The HTTP API: one table of routes, and one pipeline that every request passes."""
