"""The tests of a feature are in a folder of its name, whatever they run on: a database, a service, the API."""

from tests.api.conftest import admin, client, clock, host, one_router, service, settings, site, types
from tests.db.conftest import db, empty_engine, engine, kept, migrated, server
from tests.unit.conftest import enrolled, world

__all__ = [
    "admin",
    "client",
    "clock",
    "db",
    "empty_engine",
    "engine",
    "enrolled",
    "host",
    "kept",
    "migrated",
    "one_router",
    "server",
    "service",
    "settings",
    "site",
    "types",
    "world",
]
