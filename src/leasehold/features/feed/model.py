"""Calendar feeds: a project's leases at an address that calendar programs read without a login (idea 6, decision 0076).

The token of a feed is its id without hyphens and a secret. The service keeps a digest of the secret, which is random
and long enough that a digest without salt and without stretching cannot be turned back.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from uuid import UUID

from leasehold.model.errors import LeaseholdError, TooManyError

if TYPE_CHECKING:
    from datetime import datetime

_ID_LENGTH: Final = 32
_SECRET_BYTES: Final = 32
_NO_DIGEST: Final = sha256(b"").hexdigest()


class TooManyFeedsError(TooManyError):
    """The project has as many calendar feeds as it may have."""

    code = "leasehold.feeds.too_many"
    things = "calendar feeds"
    advice = "Delete one that is not used, or ask an operator for more."


class UnknownFeedError(LeaseholdError):
    """Nobody has made a calendar feed with this address, or it was deleted; the address itself is repeated nowhere."""

    code = "leasehold.feeds.unknown"
    status = HTTPStatus.NOT_FOUND

    def __init__(self) -> None:
        """Say what to do, and not whether there ever was a feed."""
        super().__init__("There is no calendar feed at this address. Make a new one with POST /v1/feeds.")


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed of the leases of a project, or with `own` of those that `user_id` has in it."""

    id: str
    project_id: str
    user_id: str
    name: str
    own: bool
    digest: str = field(repr=False)
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """What a client sent as a token: the id that it names, and the secret."""

    feed_id: str
    secret: str = field(repr=False)

    def opens(self, feed: Feed | None) -> bool:
        """Say whether this is the token of the feed, in a time that does not depend on where they differ."""
        # With no feed something is compared as well, so that the time does not say which ids there are.
        wanted = _NO_DIGEST if feed is None else feed.digest
        return hmac.compare_digest(digest_of(self.secret), wanted) and feed is not None


def new_secret() -> str:
    """Return a secret of 256 random bits, in letters that need no quoting in a URL."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return sha256(secret.encode()).hexdigest()


def write_token(feed_id: str, secret: str) -> str:
    """Return the token of a feed."""
    return f"{UUID(feed_id).hex}{secret}"


def read_token(text: str) -> Token | None:
    """Return a token; None for text that cannot be one."""
    name, secret = text[:_ID_LENGTH], text[_ID_LENGTH:]
    try:
        return Token(str(UUID(hex=name)), secret) if secret and text.isascii() else None
    except ValueError:
        return None
