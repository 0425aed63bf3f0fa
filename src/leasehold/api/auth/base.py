"""What an authentication strategy is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import falcon

    from leasehold.model.caller import Caller

LONGEST_ID = 255
"""The database keeps user and project ids of up to this length."""


class Authenticator(Protocol):
    """Tells from a request who makes it. Shared by all threads."""

    @property
    def challenge(self) -> str | None:
        """What a 401 puts into `WWW-Authenticate`, if anything."""

    def identify(self, request: falcon.Request) -> Caller:
        """Return the caller; raises `UnauthorizedError` with a sentence that does not help to guess.

        Raises `ForbiddenError` for somebody who acts in no project, and `IdentityUnavailableError` when nobody can be
        known now.
        """
        ...
