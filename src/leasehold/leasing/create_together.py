"""Create several leases in one decision and one transaction: all are granted, or nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.project import Allocated, CountedUse
from leasehold.enforcement.external import ExternalCall
from leasehold.leasing.approval import Approval
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.create import Creation
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.reschedule import Beside
from leasehold.leasing.unit import Order, bound
from leasehold.metrics.decision import decision
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import Once
from leasehold.model.errors import LimitExceededError
from leasehold.model.use import Use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.leasing.waiting.keeping import Keeping
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.lease import Lease


def create_together(
    service: Service,
    caller: Caller,
    drafts: Sequence[LeaseDraft],
    asked: Sequence[Asked],
    idempotency_key: str | None,
    along: Callable[..., object],
    sight: Sight = EVERYTHING,
) -> Lease:
    """Create a lease of each draft, all with the reservations `asked`, and return the first; `along` gets them all.

    They are SCHEDULED, and have an end. Nobody makes room for them: raises RefusedError if one does not fit, and else
    as `create_lease`. An external service is asked about each. A repeated idempotency key returns the first lease.
    """
    once = None if idempotency_key is None else Once(caller.project_id, idempotency_key, drafts[0].fingerprint)
    order = Order(conditions_asked(asked), (ExternalCall.CREATE, caller.project_id), once)
    cases = [Creation(caller, draft, asked, sight, None, []) for draft in drafts]
    with decision("create"):
        return carry_out(service, order, partial(_decided, cases, along))


def _decided(cases: Sequence[Creation], along: Callable[..., object], unit: Unit) -> Decision:
    """Return the decision about the first, which says that the others are made `also`."""
    wanted = _wanted(cases, unit)
    approval, budget = _Noted(needed=True), unit.service.budget()
    locks = unit.lock_and_move(cases[0].pools)
    decisions: list[Decision] = []
    with unit.snapshots(locks) as found:
        views = dict(found)
        for case, each in zip(cases, wanted, strict=True):
            budget.check()
            beside = Beside(unit.service, unit.connection, unit.order, approval, unit.evaluated, unit.use, views)
            decisions.append(case.decided(beside, locks, each))
            for _, pool, window, picks in decisions[-1].taken:
                views[pool] = views[pool].booked(picks, window)
    unit.approval.require(
        [key for key, _ in approval.asked], *(body for _, bodies in approval.asked for body in bodies)
    )
    # That about the first is bound as that of any use case.
    decisions = [decisions[0], *(bound(unit, each) for each in decisions[1:])]
    leases = [each.lease for each in decisions]

    def write(locks: Locks) -> None:
        along(locks.connection, *leases)

    return replace(decisions[0], also=decisions[1:], writes=(*decisions[0].writes, write))


def _wanted(cases: Sequence[Creation], unit: Unit) -> list[tuple[Lease, Keeping | None]]:
    """Return what is asked for; each counts for the limits of its project with those before it."""
    types = unit.service.types
    use = CountedUse(unit.connection, types.whole)
    wanted: list[tuple[Lease, Keeping | None]] = []
    for case in cases:
        try:
            lease, _ = each = case.wanted(replace(unit, use=use))
        except LimitExceededError as error:
            error.message += (
                f" This counts {len(wanted)} of the {len(cases)} leases that were asked for." if wanted else ""
            )
            raise
        wanted.append(each)
        use.others.append(Allocated(*lease.counted_window.seconds, sum(map(types.use, lease.kept), Use())))
    return wanted


@dataclass(frozen=True, slots=True)
class _Noted(Approval):
    """Notes what would need an approval, so that all of it is asked for at once."""

    asked: list[tuple[object, tuple[Callable[[], Mapping[str, Any]], ...]]] = field(default_factory=list)

    def require(self, decision: object, *bodies: Callable[[], Mapping[str, Any]]) -> None:
        """Note it."""
        self.asked.append((decision, bodies))
