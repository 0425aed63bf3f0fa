"""Carry out what a client orders: once however often it is sent, with the approval it needs, and not refused too early.

Around the unit of a use case this is all that a request has and a task has not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.leasing.approval import UNASKED, UnapprovedError, approved
from leasehold.leasing.batch import Joining, decide_together
from leasehold.leasing.lapse import unless_late
from leasehold.leasing.once import done_by
from leasehold.leasing.unit import NoTraceError, run
from leasehold.model.errors import ExternallyDeniedError, LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.leasing.approval import Approval
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Order, Unit
    from leasehold.model.lease import Lease


def carry_out(service: Service, order: Order, case: Callable[[Unit], Decision]) -> Lease:
    """Decide what was ordered, and return the lease as it is then, or as it would be after a dry run.

    If another request with its key has been carried out meanwhile, the lease is that one's. Raises what the use case
    raises, then with no change, and the errors of `approved`.
    """
    decide = partial(_decided, service, order, case)
    try:
        if order.asks is None:
            lease = decide(UNASKED)
        else:
            lease = _unless_done(
                service, order, partial(approved, service, *order.asks, decide), (ExternallyDeniedError,)
            )
    except NoTraceError as end:
        return end.lease
    service.wake()
    return lease


def _decided(service: Service, order: Order, case: Callable[[Unit], Decision], approval: Approval) -> Lease:
    """Decide, alone or with others."""
    alone = partial(unless_late, service, partial(run, service, case, order, approval))

    def attempt() -> Lease:
        if isinstance(case, Joining) and order.joins and order.along is None and not order.dry_run:
            return decide_together(service, case, order, order.joins, approval, alone)
        return alone()

    return _unless_done(service, order, attempt, (LeaseholdError, UnapprovedError, IntegrityError))


def _unless_done(
    service: Service, order: Order, work: Callable[[], Lease], failures: tuple[type[Exception], ...]
) -> Lease:
    """Return what `work` returns, or the lease of a request with the same key that was carried out before it failed.

    That one has what is missing now: the resources, the approval, or the key itself.
    """
    try:
        return work()
    except failures:
        if done := done_by(service, order.once):
            return done
        raise
