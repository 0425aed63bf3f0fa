"""Completions that threads of a manager write at the same time share a transaction (decision 0127)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.db.store import UnknownOutcomeError, worth_retrying
from leasehold.leasing.deciding.queue import ALONE, Queued

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Queued(Queued):
    patience: ClassVar[float | None] = 1.0
    completion: Any


def complete_together(
    service: Service,
    completion: object,
    alone: Callable[[Connection], bool],
    together: Callable[[Service, Sequence[Any], Connection], Sequence[object]],
) -> bool:
    """Return what becomes of a completion: `alone` if nobody is before it, else `together` with others.

    The latter returns ALONE for each that has to be done by itself afterwards, and so is each if all of it fails.
    """

    def share(batch: Sequence[_Queued]) -> None:
        outcomes: Sequence[object]
        try:
            outcomes = service.db.transact(partial(together, service, [each.completion for each in batch]))
        except UnknownOutcomeError as error:
            outcomes = [UnknownOutcomeError(*error.args) for _ in batch]
        except Exception as error:
            log.warning("%d steps could not be completed together.", len(batch), exc_info=True)
            # Without a database, which was tried long enough, each would only wait for it again.
            outcomes = [error if worth_retrying(error) else ALONE] * len(batch)
        for each, outcome in zip(batch, outcomes, strict=True):
            each.outcome = outcome

    # One project does not delay another here: whoever waits is done next.
    return service.queues.share(_Queued(complete_together, "", completion), partial(service.db.transact, alone), share)
