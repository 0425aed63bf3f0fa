"""Counting what was held, step by step from where the last count has ended (decision 0153)."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from leasehold.features.fair_share import store
from leasehold.features.fair_share.model import added
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

SETTLED: Final = 60
"""So many seconds ago all is written that was held then: a change is dated before its commit."""
STEP: Final = 24 * 3600
"""The longest time, in seconds, that one transaction counts."""
FORGOTTEN: Final = 20
"""After so many half-lives a millionth is left, which counts as nothing."""


def count_use(service: Service) -> None:
    """Count what was held since the last count, up to a minute ago; each step is a transaction, and is done once."""
    while service.db.transact(partial(_count_step, service)):
        pass


def _count_step(service: Service, connection: Connection) -> bool:
    """Count one step, and say whether there is more to count."""
    settings = service.settings.of(FairShareSettings)
    half_life, now = settings.half_life.total_seconds(), to_seconds(service.now()) - SETTLED
    terms = _terms(settings)
    since = store.counted_until(connection, terms)
    if since is None:
        first, oldest = store.first_held(connection), now - int(FORGOTTEN * half_life)
        since = now if first is None else min(max(first, oldest), now)
        store.begin_count(connection, since, terms)
    until = min(now, since + STEP)
    if until <= since or not store.count_on(connection, since, until):
        return False
    before = store.all_uses(connection)
    held = store.held_in(connection, since, until, settings.weight)
    store.keep_uses(connection, before.keys(), added(before, held, until, half_life))
    store.forget_uses(connection, until - int(FORGOTTEN * half_life))
    return until < now


def _terms(settings: FairShareSettings) -> str:
    """Return a digest of what use is counted by."""
    weights = sorted(settings.weights.items())
    return sha256(repr((settings.half_life.total_seconds(), weights)).encode()).hexdigest()
