"""Sub-leases of a lease, from 1.3 on (feature I4, decision 0110)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.dates import to_wire
from leasehold.api.handlers.lease import asking_once, matched_generation
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.policies import host as host_rules
from leasehold.api.views.lease import show_notice
from leasehold.features.lending.lend import lend, list_sub_leases
from leasehold.features.lending.model import LendWish
from leasehold.leasing.delete import take_back
from leasehold.model.draft import Once
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.terms.notice import notice_of

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.lending.bodies import SubLeaseAnswer, SubLeaseCreation
    from leasehold.model.lease import Lease
    from leasehold.resource_types.registry import ResourceTypes


def list_all(call: Call, lease: Lease) -> Reply:
    """Show what a lease has lent, to whom and until when; a sub-lease that was deleted is left out."""
    found = list_sub_leases(call.service, lease.id)
    return Reply({"sub_leases": [show_sub_lease(each, call.service.types) for each in found]})


def create(call: Call, lease: Lease, body: SubLeaseCreation) -> Reply:
    """Lend hosts of an active lease to another project, from now to `end_date`: they become a lease of that project.

    Nothing may run on them. They come back when it ends. A sub-lease cannot be lent on. The same `Idempotency-Key`
    again gives the same sub-lease.
    """
    if (body.hosts is None) == (body.amount is None):
        message = "Say what to lend by one of the two: `amount`, how many hosts, or `hosts`, which ones."
        raise InvalidInputError(message, field="amount" if body.hosts is None else "hosts")
    if body.hosts is not None:
        call.api.policies.require(host_rules.GET, call.caller, call.caller)
    key, generation = idempotency_key(call), matched_generation(call)
    end = call.date(body.end_date, "end_date")
    hosts = tuple(body.hosts or ())
    notice = notice_of(body.notice_seconds)
    wish = LendWish(body.name, body.project_id, end, body.reservation_id, hosts, body.amount, notice=notice)
    mark = fingerprint(body, "LEND", lease.id)
    once = None if key is None else Once(call.caller.project_id, key, mark)
    with asking_once(call) as service:
        made = lend(service, call.caller, lease.id, wish, generation, once)
    return Reply({"sub_lease": show_sub_lease(made, call.service.types)})


def delete(call: Call, lease: Lease, sub_lease_id: str) -> Reply:
    """Take back what was lent to a sub-lease: it is deleted, with its servers, and the lease has its hosts again.

    If a notice was promised, that is when the notice is over: the sub-lease ends then, and shows when.
    """
    if sub_lease_id not in {each.id for each in list_sub_leases(call.service, lease.id)}:
        raise NotFoundError("sub_lease_id", sub_lease_id)
    take_back(call.service, sub_lease_id)
    return Reply()


def show_sub_lease(lease: Lease, types: ResourceTypes) -> SubLeaseAnswer:
    """Return what the lender may know: its name is that of the project that has it, which may have changed it."""
    return {
        "id": lease.id,
        "parent_id": "" if lease.lent is None else lease.lent.lease_id,
        "project_id": lease.project_id,
        "start_date": to_wire(lease.window.start),
        "end_date": to_wire(lease.window.end),
        "status": lease.status.value,
        **show_notice(lease),
        "amount": sum(types.amount(part) for part in lease.reservations),
    }
