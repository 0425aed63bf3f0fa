"""The users of the `http_basic` strategy: a file with one user in each line.

    user:bcrypt-hash:project:role,role

Of the roles `admin`, `manager`, `member` and `reader` each implies those after it. `leasehold-manage hash-password`
prints such a line. Empty lines and lines that start with `#` are ignored. A changed file is read again at the next
request.
"""

from __future__ import annotations

import logging
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.api.auth.base import LONGEST_ID
from leasehold.api.auth.none import read_roles, with_implied
from leasehold.conf.errors import ConfigurationError
from leasehold.model.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOG = logging.getLogger(__name__)

FIELDS = 4
LEAST_COST = 10
"""Hashes with a lower bcrypt cost are logged as a warning; each step up doubles the work of guessing."""
BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class User:
    """A user who may log in: the hash of the password, and the caller that a login gives."""

    password_hash: bytes
    caller: Caller

    @property
    def cost(self) -> int:
        """The bcrypt cost: the number of rounds is two to this power."""
        return int(self.password_hash[4:6])


def read_users(path: Path) -> Mapping[str, User]:
    """Return the users in `path` by name; raises `ConfigurationError` that names the line, never its contents."""
    try:
        mode, lines = path.stat().st_mode, path.read_text(encoding="utf-8").splitlines()
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
    _warn(path, mode, users)
    return users


def _warn(path: Path, mode: int, users: Mapping[str, User]) -> None:
    """Log a warning for each setting that works but is not safe."""
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        LOG.warning(
            "The users file %s can be read or changed by others: chmod 0640, owned by root, with the service's group.",
            path,
        )
    quick = sorted(name for name, user in users.items() if user.cost < LEAST_COST)
    if quick:
        LOG.warning(
            "The passwords in %s of %s have a bcrypt cost below %d, so are quick to guess. Hash them again with "
            "leasehold-manage hash-password.",
            path,
            ", ".join(quick),
            LEAST_COST,
        )
    if len({user.cost for user in users.values()}) > 1:
        LOG.warning("The bcrypt costs in %s differ, so the time of a refusal reveals user names. Use one cost.", path)


def _read_line(line: str, place: str) -> tuple[str, User]:
    parts = line.split(":")
    if len(parts) != FIELDS or not parts[0] or not parts[2] or max(len(parts[0]), len(parts[2])) > LONGEST_ID:
        raise ConfigurationError(f"{place}: a user is written as user:bcrypt-hash:project:role,role.")
    name, password_hash, project, roles = parts
    if not BCRYPT.fullmatch(password_hash):
        raise ConfigurationError(
            f"{place}: the second field is not a bcrypt hash. `leasehold-manage hash-password` makes one."
        )
    return name, User(password_hash.encode("ascii"), Caller(name, project, with_implied(read_roles(roles))))


class UsersFile:
    """The users in the file as it is now. If it becomes unreadable, they stay as they were, and the log says so."""

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
                LOG.warning("%s Until then the users stay as they were.", error)
                users = self._held[1]
            self._held = (stamp, users)
        return self._held[1]


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
