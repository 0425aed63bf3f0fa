"""Changes nothing: it made the sandbox's table of snapshots, which the sandbox makes itself now."""

from __future__ import annotations

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Change nothing."""


def downgrade() -> None:
    """Change nothing: the sandbox's tables are its own."""
