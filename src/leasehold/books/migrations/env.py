"""Alembic's entry: run the migrations on the connection that `leasehold.books.schema` hands over."""

from __future__ import annotations

from alembic import context

from leasehold.books.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
