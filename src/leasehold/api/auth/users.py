"""The users of the `http_basic` strategy: a file with one user in each line.

    user:bcrypt-hash:project:role,role

`htpasswd -nB user` prints the first two fields; project and roles are ours. Empty lines and lines that start with `#`
do not count. A changed file is read again with the next request.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.api.auth.base import LONGEST_ID
from leasehold.api.auth.none import read_roles
from leasehold.conf.errors import ConfigurationError
from leasehold.model.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOG = logging.getLogger(__name__)

FIELDS = 4
BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class User:
    """A user who may log in: the hash of the password, and who that makes them."""

    password_hash: bytes
    caller: Caller


def read_users(path: Path) -> Mapping[str, User]:
    """Return the users in `path` by name; raises `ConfigurationError` that names the line, never its contents."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = (
            f"The users file {path} cannot be read ({type(error).__name__}). Set [api] users_file to one that can."
        )
        raise ConfigurationError(message) from error
    users: dict[str, User] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, user = _read_line(line.strip(), f"{path}, line {number}")
            users[name] = user
    return users


def _read_line(line: str, place: str) -> tuple[str, User]:
    parts = line.split(":")
    if len(parts) != FIELDS or not parts[0] or not parts[2] or max(len(parts[0]), len(parts[2])) > LONGEST_ID:
        raise ConfigurationError(f"{place}: a user is written as user:bcrypt-hash:project:role,role.")
    name, password_hash, project, roles = parts
    if not BCRYPT.fullmatch(password_hash):
        raise ConfigurationError(f"{place}: the second field is not a bcrypt hash. `htpasswd -nB {name}` prints one.")
    return name, User(password_hash.encode("ascii"), Caller(name, project, read_roles(roles)))


class UsersFile:
    """The users as the file says now. A file that became unreadable leaves them as they were, and is logged."""

    def __init__(self, path: Path) -> None:
        """Read the file for the first time; raises `ConfigurationError`."""
        self._path = path
        self._held: tuple[Stamp | None, Mapping[str, User]] = (_stamp(path), read_users(path))

    def current(self) -> Mapping[str, User]:
        """Return the users by name; the same mapping as long as the file has not changed."""
        stamp = _stamp(self._path)
        if stamp != self._held[0]:
            try:
                users = read_users(self._path)
            except ConfigurationError as error:
                LOG.warning("%s The users stay as they were.", error)
                users = self._held[1]
            self._held = (stamp, users)
        return self._held[1]


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
