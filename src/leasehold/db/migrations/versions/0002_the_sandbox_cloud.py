"""Changes nothing: it made the tables of the sandbox, which makes them itself now (`cloud/sandbox/tables.py`).

Tables that it made stay; the sandbox uses them.
"""

from __future__ import annotations

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Change nothing."""


def downgrade() -> None:
    """Change nothing: the sandbox's tables are its own."""
