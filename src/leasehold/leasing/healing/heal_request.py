"""Heal a lease because its owner asks for it, whatever its heal policy and whenever it begins (feature J5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.db.resources.resource import changed_in_the_cloud, failed_resources
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.healing.heal import Healing, Round, healable, stuck_now
from leasehold.leasing.healing.risk import tell_risk
from leasehold.leasing.locks import look_at
from leasehold.leasing.requests import conditions_of
from leasehold.leasing.steps.lifecycle import is_over
from leasehold.leasing.unit import Order
from leasehold.metrics.decision import decision
from leasehold.model.errors import BusyError, ConflictError, NoReplacementError, NothingToHealError
from leasehold.model.terms.heal_policy import HealPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression


@decision("heal")
def heal_on_request(service: Service, lease_id: str, if_generation: int | None = None) -> Lease:
    """Give a lease other resources for those that have failed and for what it misses; return it as it is then.

    What cannot be replaced is given up if something else was, and comes back when it works again. Servers stay where
    they are, as with any healing.

    Raises NotFoundError; StaleError when the lease's generation is not `if_generation`; that of its source;
    ConflictError when it is over or waits for resources, BusyError while it ends; NothingToHealError;
    NoReplacementError when nothing that fits is free; TakesTooLongError. Nothing is changed then.
    """
    with service.db.reading() as connection:
        lease = look_at(connection, lease_id)
        service.source_of(lease).check_healing(lease)
        failed, changed = failed_resources(connection).keys(), changed_in_the_cloud(connection).keys()
        here = Round(failed, frozenset(), changed, stuck_now(service, connection))
    types = {part.resource_type for part in lease.reservations}
    healing = Healing(lease_id, types, here, policy=HealPolicy.REPLACE)
    healed = carry_out(service, Order(_conditions(service, lease)), _HealingOnRequest(healing, if_generation))
    return tell_risk(service, lease_id) or healed


def _conditions(service: Service, lease: Lease) -> Sequence[tuple[str, Expression]]:
    """Return what the decision evaluates, so that it is done before any lock is taken."""
    found = [(service.types.find(part.resource_type), part.request) for part in lease.kept]
    return conditions_of((type_.kind, type_.kind.load(stored)) for type_, stored in found if type_ is not None)


@dataclass(frozen=True, slots=True)
class _HealingOnRequest:
    """The use case."""

    healing: Healing
    if_generation: int | None

    def __call__(self, unit: Unit) -> Decision:
        locks = self.healing.lock(unit)
        lease = look_at(unit.connection, self.healing.lease_id, self.if_generation, lock=True)
        if is_over(lease) or lease.waits:
            message = f"The lease is {lease.status} and has no resources, so there is nothing to replace."
            raise ConflictError(message)
        if not healable(lease, locks.now):
            message = f"The lease is {lease.status}: it ends, so nothing of it is replaced any more."
            raise BusyError(message)
        # The time runs only now: the wait for the locks was other decisions'.
        healing = replace(self.healing, check=unit.service.budget().check)
        healed = healing.decided(unit, locks, lease)
        mended = healed.mended.values()
        if not any(each.lost or each.flags.missing_resources or each.fresh for each in mended):
            raise NothingToHealError
        if not any(each.fresh for each in mended):
            raise NoReplacementError
        return healing.decision(unit, locks, lease, healed)
