"""A round of the periodic audit: when it was, and what it has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.errors import ConflictError

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.finding import Finding


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding of the last complete round.

    `found_at` is when a round found it first; rounds since then have found it again. `repaired` says what the round did
    about it, None where it did nothing.
    """

    finding: Finding
    found_at: datetime
    repaired: str | None


@dataclass(frozen=True, slots=True)
class AuditRound:
    """The last round that began. `failure` says why it could not be completed; then `findings` are older.

    A round is under way from `began_at` on until `ended_at` is later; a manager that dies leaves it so.
    """

    began_at: datetime
    ended_at: datetime | None
    failure: str | None
    findings: tuple[Reported, ...] = ()

    @property
    def under_way(self) -> bool:
        """Whether the round has not ended."""
        return self.ended_at is None or self.ended_at < self.began_at


class AuditOffError(ConflictError):
    """Nobody does rounds of the periodic audit, so none can be asked for."""

    code = "leasehold.audit.off"

    def __init__(self) -> None:
        super().__init__(
            "The periodic audit is switched off ([manager] audit_seconds is 0). An operator can run leasehold-manage "
            "audit, or set the option and restart the managers."
        )
