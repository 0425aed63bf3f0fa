"""Strategy `http_basic`: a user name and a password with every request, checked against a file of bcrypt hashes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import bcrypt

from leasehold.api.auth.users import LEAST_COST, User, UsersFile
from leasehold.model.errors import UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import falcon

    from leasehold.conf.settings import ApiSettings
    from leasehold.model.caller import Caller

REMEMBERED_SECONDS = 60.0
MOST_REMEMBERED = 1024
LONGEST_PASSWORD = 72
"""In bytes: bcrypt ignores further ones. Longer passwords are refused rather than truncated."""


class BasicAuthentication:
    """Checks passwords. A bcrypt check is slow on purpose, so a success is cached for a minute.

    The cache holds no passwords, but their digests under a random key of this process.
    """

    challenge = 'Basic realm="leasehold", charset="UTF-8"'

    def __init__(self, users: UsersFile) -> None:
        self._users = users
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._remembered: dict[bytes, float] = {}
        self._for_users: Mapping[str, User] | None = None
        self._nobody = _hash_of_nobody(LEAST_COST)

    def identify(self, request: falcon.Request) -> Caller:
        """Return the caller whose name and password the `Authorization` header holds."""
        return self.check(*_credentials(request.get_header("Authorization"))).caller

    def user(self, name: str) -> User | None:
        """Return the user of this name as the file has it now, None if there is none."""
        return self._users.current().get(name)

    def check(self, name: str, password: bytes) -> User:
        """Return the user with this name and this password; raises UnauthorizedError."""
        users = self._users.current()
        user = users.get(name)
        if self._knows(users, user, password) and user is not None:
            return user
        expected = self._nobody if user is None else user.password_hash
        matches = len(password) <= LONGEST_PASSWORD and bcrypt.checkpw(password, expected)
        if user is None or not matches:
            raise UnauthorizedError("The user name or the password is wrong.")
        self._remember(user, password)
        return user

    def _digest(self, user: User | None, password: bytes) -> bytes:
        expected = self._nobody if user is None else user.password_hash
        return hmac.digest(self._key, expected + b"\x00" + password, hashlib.sha256)

    def _knows(self, users: Mapping[str, User], user: User | None, password: bytes) -> bool:
        """Say whether the cache has this password, verified with the users file as it is now.

        The time of the lookup reveals nothing, because the digest depends on a secret key.
        """
        self._look_at(users)
        digest = self._digest(user, password)
        with self._lock:
            return self._remembered.get(digest, 0.0) > time.monotonic()

    def _look_at(self, users: Mapping[str, User]) -> None:
        """Clear the cache when the users file has changed, and give unknown names the highest cost of any user."""
        with self._lock:
            if users is not self._for_users:
                self._remembered.clear()
                self._for_users = users
                self._nobody = _hash_of_nobody(max((user.cost for user in users.values()), default=LEAST_COST))

    def _remember(self, user: User, password: bytes) -> None:
        digest = self._digest(user, password)
        with self._lock:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[digest] = time.monotonic() + REMEMBERED_SECONDS


def _hash_of_nobody(cost: int) -> bytes:
    """Return the hash that is checked for unknown names, so that their refusal takes as long as for a wrong password.

    No password matches it: its salt is real, its digest is not.
    """
    return bcrypt.gensalt(cost) + b"." * 31


def _credentials(header: str | None) -> tuple[str, bytes]:
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        raise UnauthorizedError("This API wants a user name and a password, by HTTP Basic authentication.")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
        name = decoded.partition(b":")[0].decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise UnauthorizedError("The Authorization header is not `Basic base64(user:password)`.") from error
    return name, decoded.partition(b":")[2]


def open_http_basic(settings: ApiSettings) -> BasicAuthentication:
    """Return the strategy; raises `ConfigurationError` when the users file cannot be used."""
    return BasicAuthentication(UsersFile(Path(settings.users_file)))
