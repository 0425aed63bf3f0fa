"""The interface of an authentication strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import falcon

    from leasehold.model.caller import Caller

LONGEST_ID = 255
"""The database stores user and project ids of up to this length."""


class Authenticator(Protocol):
    """Identifies the caller of a request. Shared by all threads."""

    @property
    def challenge(self) -> str | None:
        """The `WWW-Authenticate` header of a 401, if any."""

    def identify(self, request: falcon.Request) -> Caller:
        """Return the caller; raises `UnauthorizedError` with a message that does not help to guess credentials.

        Raises `ForbiddenError` for a caller without a project, and `IdentityUnavailableError` when no caller can be
        identified now.
        """
        ...
