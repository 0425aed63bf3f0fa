"""Check before every call to the cloud that this process still has the claim, mostly without asking the database."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.store import UnknownOutcomeError
from leasehold.db.task import renew_claims

if TYPE_CHECKING:
    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service

SURE = 2 / 3
"""The part of a claim's length in which no check is needed, by the monotonic clock; the rest is for slow calls."""


class ClaimLostError(Exception):
    """Another manager may be running this task, so this process must make no more calls for it."""


class ClaimGuard:
    """Guards the calls of one claim. If this process was suspended, renewing the claim shows whether it expired."""

    def __init__(self, service: Service, claim: Claim) -> None:
        """`claim.made_at` is when the claim was made, by the monotonic clock."""
        self._service = service
        self._claim = claim
        self._lasts = service.settings.manager.claim_seconds
        self._sure_until = claim.made_at + SURE * self._lasts

    def check(self) -> None:
        """Return if this process has the claim, renewing it if need be; raises ClaimLostError if not, or if unknown."""
        now = time.monotonic()
        if now < self._sure_until:
            return
        if not self._renewed():
            message = f"Another manager has taken over the work for {self._claim.subject}."
            raise ClaimLostError(message)
        self._sure_until = now + SURE * self._lasts

    def _renewed(self) -> bool:
        until = self._service.now() + timedelta(seconds=self._lasts)
        renew = partial(renew_claims, ids=[self._claim.id], claimers=[self._claim.claimer], until=until)
        try:
            return self._service.db.transact(renew) == 1
        except (SQLAlchemyError, UnknownOutcomeError) as error:
            message = f"The database does not say whether this manager still has the claim for {self._claim.subject}."
            raise ClaimLostError(message) from error
