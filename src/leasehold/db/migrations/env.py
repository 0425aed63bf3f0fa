"""Alembic's entry: run the migrations on the connection that `leasehold.db.schema` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import MetaData

from leasehold.db.migrations.steps import NAMES

context.configure(connection=context.config.attributes["connection"], target_metadata=MetaData(naming_convention=NAMES))
with context.begin_transaction():
    context.run_migrations()
