"""The folder in which `leasehold-standalone` keeps its state."""

from __future__ import annotations

import os
from pathlib import Path

STATE_VARIABLE = "LEASEHOLD_STATE"
STATE_FOLDER = ".state"
DATABASE_NAME = "leasehold.sqlite"


def state_folder() -> Path:
    """Return the folder that the environment names, else `.state` in the current folder."""
    return Path(os.environ.get(STATE_VARIABLE) or STATE_FOLDER).absolute()


def state_database() -> Path:
    """Return the file of the standalone service's database and sandbox; it need not exist."""
    return state_folder() / DATABASE_NAME
