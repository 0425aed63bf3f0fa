"""Sessions of the web console: what the database keeps of one, when it ends, and why there is none (decision 0096).

A session is named by a secret that only the browser has. The service keeps a digest of it, which cannot be turned back:
the secret is random and long.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from leasehold.model.errors import ForbiddenError, LeaseholdError, UnauthorizedError

if TYPE_CHECKING:
    from datetime import datetime

SECRET_BYTES: Final = 32
SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
"""What `new_secret` returns looks like this."""
NAME_LENGTH: Final = 16
"""Characters of the digest by which its owner names a session, to end it from elsewhere."""
SEEN_EVERY: Final = timedelta(minutes=1)
"""How often at most a session notes that its person is there."""


class Ended(StrEnum):
    """Why there is no session: nobody was there for long, its time is over, or all else."""

    IDLE = "idle"
    EXPIRED = "expired"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Session:
    """One session; `sealed` is who is signed in and with which tokens, and opens only with the browser's secret."""

    digest: str
    user_id: str
    project_id: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    sealed: str = field(repr=False)

    @property
    def name(self) -> str:
        """What its owner calls it by. It opens nothing."""
        return self.digest[:NAME_LENGTH]

    def ended(self, now: datetime, idle: timedelta) -> Ended | None:
        """Return why it is over, None while it is not; an `idle` of zero means that idleness ends nothing.

        `seen_at` is late by up to `SEEN_EVERY`, which is granted, so that nobody who was there in time is signed out.
        """
        if self.expires_at <= now:
            return Ended.EXPIRED
        if idle and self.seen_at + idle + SEEN_EVERY <= now:
            return Ended.IDLE
        return None


def new_secret() -> str:
    """Return a secret of 256 random bits, in letters that a cookie may have."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest_of(secret: str) -> str:
    """Return the key of a secret's session."""
    return sha256(secret.encode()).hexdigest()


class PasswordExpiredError(UnauthorizedError):
    """The identity service knows the user and the password, and wants another password first."""

    code = "leasehold.session.password_expired"


class SessionEndedError(LeaseholdError):
    """The console's request has no session: there never was one, it ended, or somebody ended it."""

    code = "leasehold.session.none"
    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, ended: str = "none") -> None:
        """Say why: `idle`, `expired`, or `none` for all else."""
        super().__init__("You are not signed in, or not any more. Sign in again.", details={"ended": ended})


class InsecureSignInError(ForbiddenError):
    """A browser would send the console's password and its cookie without encryption, or would drop the cookie."""

    code = "leasehold.session.insecure"


class NoProjectError(ForbiddenError):
    """A user of the identity service has no role in a project in which the console could work."""

    code = "leasehold.session.no_project"


class WebSsoError(ForbiddenError):
    """A sign-in by the browser's way to an identity provider was not begun here, or brings no usable token."""

    code = "leasehold.session.websso"


class FixedProjectError(ForbiddenError):
    """The console's session is bound to its project."""

    code = "leasehold.session.fixed"
