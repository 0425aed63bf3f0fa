"""Who is signed in at the console, and its sealing under the secret of the browser's cookie (decision 0096).

The database has the sealed form and a digest of the secret. Neither opens the other, so that a stolen database or a
backup holds no token.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import TypeAdapter

PURPOSE: Final = b"leasehold console session"
KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Named:
    """A user or a project: its id, and the names for people as far as they are known."""

    id: str
    name: str
    domain: str | None = None
    domain_id: str | None = None


@dataclass(frozen=True, slots=True)
class AccessRule:
    """What an application credential allows."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Identity:
    """A person who is signed in, in one project.

    `token` is the Keystone token for the project, `unscoped` the one with which other projects are chosen, and `revoke`
    those that end with the session: all but one that the person had before. `proof` is a digest of the password's hash
    of the `http_basic` strategy: who changes the password ends the session. `access_rules` None means that there are
    none.
    """

    strategy: str
    user: Named
    project: Named
    roles: tuple[str, ...]
    is_admin_project: bool = True
    token: str = field(default="", repr=False)
    unscoped: str = field(default="", repr=False)
    revoke: tuple[str, ...] = field(default=(), repr=False)
    proof: str = field(default="", repr=False)
    access_rules: tuple[AccessRule, ...] | None = None

    @property
    def can_switch(self) -> bool:
        """Whether another project can be chosen."""
        return bool(self.unscoped)


_READER: Final = TypeAdapter(Identity)


def seal(identity: Identity, secret: str) -> str:
    """Return what the database keeps of an identity."""
    return _box(secret).encrypt(_READER.dump_json(identity)).decode("ascii")


def unseal(sealed: str, secret: str) -> Identity | None:
    """Return the identity that was sealed with this secret; None if it was not, or by another version of the code."""
    try:
        return _READER.validate_json(_box(secret).decrypt(sealed))
    except (InvalidToken, ValueError):
        return None


def _box(secret: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=PURPOSE).derive(secret.encode("ascii"))
    return Fernet(base64.urlsafe_b64encode(key))
