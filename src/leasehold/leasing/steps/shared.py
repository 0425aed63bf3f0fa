"""What several threads of a manager write about their leases at the same time shares a transaction (decision 0127)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from leasehold.db.store import UnknownOutcomeError, worth_retrying
from leasehold.leasing.deciding.queue import ALONE, Queued

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = getLogger(__name__)

Thing = TypeVar("Thing")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Queued(Queued):
    patience: ClassVar[float | None] = 1.0
    thing: Any


def transact_together(
    service: Service,
    thing: Thing,
    alone: Callable[[Connection], Result],
    together: Callable[[Service, Sequence[Thing], Connection], Sequence[Result | object]],
) -> Result:
    """Return what becomes of a thing in a transaction: `alone` if nobody is before it, else `together` with others.

    The latter returns ALONE for each that has to be done by itself afterwards, and so is each if all of it fails.
    """

    def share(batch: Sequence[_Queued]) -> None:
        outcomes: Sequence[object]
        try:
            outcomes = service.db.transact(partial(together, service, [each.thing for each in batch]))
        except UnknownOutcomeError as error:
            outcomes = [UnknownOutcomeError(*error.args) for _ in batch]
        except Exception as error:
            log.warning("%d steps could not be written together.", len(batch), exc_info=True)
            # Without a database, which was tried long enough, each would only wait for it again.
            outcomes = [error if worth_retrying(error) else ALONE] * len(batch)
        for each, outcome in zip(batch, outcomes, strict=True):
            each.outcome = outcome

    # One project does not delay another here: whoever waits is done next.
    return service.queues.share(_Queued(together, "", thing), partial(service.db.transact, alone), share)
