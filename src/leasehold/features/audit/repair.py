"""Repair the findings of an audit that a service may repair by itself.

A lease or a resource is repaired by its own task, so that two workers never work on it. No repair deletes a server,
deletes a lease, or moves an allocation.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.cloud.ports import CloudError
from leasehold.db.leases.hold import held_in_vain
from leasehold.db.leases.lease import find_lease
from leasehold.db.outbox import put_event
from leasehold.db.resources.resource import find_resource, last_resource
from leasehold.db.store import UnknownOutcomeError
from leasehold.db.task import LEASE, add_task_once
from leasehold.db.work import IDLE, work_of
from leasehold.leasing.locks import lock
from leasehold.leasing.steps.leftovers import look_at, remove_leftovers
from leasehold.leasing.steps.lifecycle import Phase, next_moment, phase_of
from leasehold.leasing.waiting.holds import let_go_of
from leasehold.model.event_log import LeaseNews
from leasehold.model.finding import FindingKind, Mend
from leasehold.resource_types.capabilities import Placed, Repairing

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.finding import Finding
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

HURRIED = "The next manager that is free repairs it."


def repair(service: Service, finding: Finding) -> str | None:
    """Repair a finding and return a sentence that says how; None if it is left to an operator or to another try.

    The subject is checked again first: it is left alone if it was repaired meanwhile or has work in progress.
    """
    if finding.mend is None:
        return None
    try:
        return _MENDERS[finding.mend](service, finding)
    except CloudError as error:
        log.warning("The audit's finding about %s could not be repaired: %s", finding.subject, error)
        return None
    except (SQLAlchemyError, UnknownOutcomeError):
        raise
    except Exception:
        # A failed repair must not prevent the repair of other findings.
        log.exception("A bug: the audit's finding about %s could not be repaired", finding.subject)
        return None


# ------------------------------------------------------------ by a task


def _woken(service: Service, work: Callable[[Connection], str | None]) -> str | None:
    done = service.db.transact(work)
    service.wake()
    return done


def _hurry_lease(service: Service, finding: Finding) -> str | None:
    def work(connection: Connection) -> str | None:
        now = service.now()
        lease = find_lease(connection, finding.subject, lock=True, gone=True)
        if lease is None or (work_of(connection, LEASE, lease.id) or IDLE).busy(now):
            return None
        phase = phase_of(lease, now)
        if phase is None and next_moment(lease) is None:
            return None
        if finding.kind is FindingKind.DRIFT:
            if phase is not Phase.KEEP:
                return None
            put_event(connection, LeaseNews.REPAIRED, lease, now)
        add_task_once(connection, LEASE, lease.id, now)
        return HURRIED

    return _woken(service, work)


def _hurry_resource(service: Service, finding: Finding) -> str | None:
    type_ = _type_of(service, finding)
    if type_ is None or not isinstance(type_.driver, Placed):
        return None
    task = type_.driver.task

    def work(connection: Connection) -> str | None:
        known = last_resource(connection, type_.name, finding.subject)
        if known is None or (work_of(connection, task, known.id) or IDLE).busy(service.now()):
            return None
        add_task_once(connection, task, known.id, service.now())
        return HURRIED

    return _woken(service, work)


def _let_go(service: Service, finding: Finding) -> str | None:
    """Take a hold off, and give the host back if it was drawn for the lease."""
    type_ = _type_of(service, finding)
    if type_ is None:
        return None

    def work(connection: Connection) -> str | None:
        locks = lock(connection, {type_.kind.pool}, service.now)
        held = [each for each in held_in_vain(connection) if each.id == finding.subject and each.type == type_.name]
        for resource in held:
            lease = find_lease(connection, resource.held_for or "", gone=True)
            let_go_of(service, resource, lease, locks)
        if not held:
            return None
        locks.move(freed=True)
        return "It is held no more."

    return _woken(service, work)


# ------------------------------------------------------------ by the driver


def _by_driver(service: Service, finding: Finding) -> str | None:
    type_ = _type_of(service, finding)
    if type_ is None or not isinstance(type_.driver, Repairing):
        return None
    with service.db.reading() as connection:
        resource = find_resource(connection, type_.name, finding.subject)
    return None if resource is None else type_.driver.repair(look_at(service), resource)


def _type_of(service: Service, finding: Finding) -> ResourceType | None:
    return None if finding.resource_type is None else service.types.find(finding.resource_type)


_MENDERS: dict[Mend, Callable[[Service, Finding], str | None]] = {
    Mend.LEASE: _hurry_lease,
    Mend.RESOURCE: _hurry_resource,
    Mend.HOLD: _let_go,
    Mend.REMOVAL: lambda service, finding: remove_leftovers(service, finding.subject),
    Mend.DRIVER: _by_driver,
}
