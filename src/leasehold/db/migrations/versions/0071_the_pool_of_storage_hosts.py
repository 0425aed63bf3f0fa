"""The pool of storage hosts, which can be enrolled in each cloud that has the type."""

from __future__ import annotations

import secrets

from leasehold.db.migrations.steps import add_rows

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    """Add the pool, so that no service has to when it starts."""
    add_rows("pools", "name", [{"name": "storage", "generation": 0, "nonces": f"0:{secrets.token_urlsafe(8)}"}])


def downgrade() -> None:
    """Leave it: nobody looks at a pool without resources."""
