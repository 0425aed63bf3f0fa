"""Entry points: only this package connects a cloud, a database and settings."""
