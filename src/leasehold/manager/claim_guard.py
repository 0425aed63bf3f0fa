"""Whether a claimed task is still ours: asked before every call to the cloud, answered mostly without the database."""

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
"""The part of a claim's length for which it is certainly ours, by our own steady clock; the rest is for slow calls."""


class ClaimLostError(Exception):
    """Somebody else may be doing this work by now, so nothing more may be done for it here."""


class ClaimGuard:
    """A claim as this process knows it. Where it stood still, it finds out by renewing the claim."""

    def __init__(self, service: Service, claim: Claim) -> None:
        """The claim was made at `claim.made_at`, by the steady clock."""
        self._service = service
        self._claim = claim
        self._lasts = service.settings.manager.claim_seconds
        self._sure_until = claim.made_at + SURE * self._lasts

    def check(self) -> None:
        """Return when the claim is ours for a while yet; raises ClaimLostError when it is not, or nobody can say."""
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
            message = f"The database does not say whether the work for {self._claim.subject} is still ours."
            raise ClaimLostError(message) from error
