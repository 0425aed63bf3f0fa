"""Users of the strategy `http_basic`: their file, and the header with which they log in."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import bcrypt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def hashed(password: str, cost: int = 4) -> str:
    """Return the bcrypt hash of a password, by default of the lowest cost."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


def users_file(folder: Path, users: Mapping[str, str], cost: int = 4) -> Path:
    """Write a users file in the folder and return its path; each user has the form "password:project:role,role"."""
    path = folder / "users"
    lines = []
    for name, user in users.items():
        password, project, roles = user.rsplit(":", 2)
        lines.append(f"{name}:{hashed(password, cost)}:{project}:{roles}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def basic(user: str, password: str) -> str:
    """Return the value of the `Authorization` header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
