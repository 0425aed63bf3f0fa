"""What a call can raise. Each message is a sentence for the person who made the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class ClientError(Exception):
    """A call did not succeed; the base of all errors of this library."""


class UnreachableError(ClientError):
    """The service cannot be reached, or what answers is not the service."""


class NotFoundError(ClientError):
    """Nothing has this name or id, or several things have this name."""


class ApiError(ClientError):
    """The service refused a request.

    `code` never changes and is meant for programs, `field` names the value that is wrong (None where it is none), and
    `details` explains: a refusal has `largest`, `nearest` and `latest_end` where something smaller, later or shorter
    fits, and in `estimates` what that costs.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str = "",
        field: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.field = field
        self.details = dict(details or {})

    def __str__(self) -> str:
        """Return the sentence, and the field where the sentence does not name it."""
        if self.field is None or self.field in self.message:
            return self.message
        return f"{self.message} (in {self.field})"
