"""The cloud half of the audit: compare the cloud with what the database wants (feature E9, idea 19).

The wanted state is not defined a second time: the drivers' own `converge` runs against a cloud that only records what
it would change. Leases and resources with work in progress are skipped. Users work during the audit, so only a
difference that is found twice, `Pace.between_looks` apart, is a finding.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import BlockedError, CloudError, CloudPermanentError
from leasehold.db.leases.lease import find_lease
from leasehold.db.task import LEASE
from leasehold.db.work import IDLE, work_of
from leasehold.features.audit.reading import leases_using, standing_lease_ids, types_in_use
from leasehold.leasing.steps.leftovers import audited_types, look_at, objects_of_ours
from leasehold.leasing.steps.lifecycle import Phase, Step, jobs_of, phase_of
from leasehold.model.finding import REPAIR, Finding, FindingKind, Mend
from leasehold.resource_types.capabilities import Audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leasehold.cloud.observing import Observation, WithheldWrite
    from leasehold.leasing.service import Service
    from leasehold.resource_types.look import CloudObject, Look
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

MOST_NAMED = 8
"""The most differences that a finding lists; it counts the rest."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate of the audit: seconds to pause after each lease and between the two looks; `wait` may raise to abort."""

    after_lease: float = 0.0
    between_looks: float = 2.0
    wait: Callable[[float], None] = time.sleep


def audit_cloud(service: Service, pace: Pace) -> list[Finding]:
    """Return the differences between the cloud and the database.

    Raises CloudError when the cloud cannot be asked; there are no partial results then.
    """
    suspected = {(found.kind, found.subject) for found in _first_look(service, pace)}
    if not suspected:
        return []
    pace.wait(pace.between_looks)
    return [found for found in _second_look(service, suspected) if (found.kind, found.subject) in suspected]


def _first_look(service: Service, pace: Pace) -> Iterator[Finding]:
    look = look_at(service)
    yield from _beside_leases(service, look)
    with service.db.reading() as connection:
        standing = standing_lease_ids(connection)
    for lease_id in standing:
        yield from audit_drift(service, look.observation, lease_id)
        pace.wait(pace.after_lease)


def _second_look(service: Service, suspected: set[tuple[FindingKind, str]]) -> Iterator[Finding]:
    """Check the suspects again, each with a fresh listing: a stale one gives false positives."""
    if any(kind is not FindingKind.DRIFT for kind, _ in suspected):
        yield from _beside_leases(service, look_at(service))
    # A plugin that raises is a finding with the lease as its subject.
    of_leases = (FindingKind.DRIFT, FindingKind.PLUGIN)
    for subject in sorted({subject for kind, subject in suspected if kind in of_leases}):
        yield from audit_drift(service, look_at(service).observation, subject)


def _beside_leases(service: Service, look: Look) -> Iterator[Finding]:
    """Yield what is wrong with resources, what reservations that are over have left, and what plugins are missing."""
    types = audited_types(service)
    for type_ in types:
        yield from _of_type(type_, look)
    yield from audit_leftovers(service, look, types)
    yield from audit_plugins(service)


def _of_type(type_: ResourceType, look: Look) -> list[Finding]:
    """Return what the driver finds wrong with its resources; a driver that raises is a finding itself."""
    try:
        return list(type_.driver.audit(look)) if isinstance(type_.driver, Audited) else []
    except CloudError:
        raise
    except Exception as error:
        log.exception("A bug in %s: its resources could not be audited", type_.name)
        what = f"The plugin of {type_.name!r} fails at the audit of its resources ({type(error).__name__})."
        return [Finding(FindingKind.PLUGIN, type_.name, what, _RESOURCE_BUG)]


def audit_drift(service: Service, observation: Observation, lease_id: str) -> Iterator[Finding]:
    """Yield the differences between the cloud and an idle lease, unless the lease changes during the comparison.

    A plugin that raises is a finding of its own; the lease's other reservations are still compared.
    """
    step = _standing(service, lease_id)
    if step is None:
        return
    subject = f"Lease {lease_id} is {step.lease.status}, but"
    bugs: list[str] = []
    found: list[Finding] = []
    try:
        changes = _changes(service, observation, step, bugs)
    except BlockedError:
        # The driver's own audit reports what is in the way.
        changes = []
    except CloudPermanentError as error:
        changes = []
        found.append(
            Finding(FindingKind.DRIFT, lease_id, f"{subject} the cloud refuses to converge it: {error}.", _ASK)
        )
    if changes:
        found.append(_drift(lease_id, subject, changes))
    if bugs:
        found.append(Finding(FindingKind.PLUGIN, lease_id, f"{subject} {'; '.join(bugs)}.", _BUG))
    if found and _standing(service, lease_id) == step:
        yield from found


_ASK = "Bring back what is missing, or delete the lease."
_RESOURCE_BUG = "This is a defect of that plugin; its traceback is in the log. Its resources were not compared."
_BUG = (
    "This is a defect of that plugin; its traceback is in the log. The reservation's objects in the cloud were not "
    "compared."
)


def _drift(lease_id: str, subject: str, changes: list[WithheldWrite]) -> Finding:
    said = [change.what for change in changes[:MOST_NAMED]]
    if len(changes) > MOST_NAMED:
        said.append(f"and {len(changes) - MOST_NAMED} more")
    what = f"{subject} {'; '.join(said)}."
    if any(change.hurts for change in changes):
        remedy = "A repair would delete servers that users booted: move them away first, or delete the lease."
        return Finding(FindingKind.DRIFT, lease_id, what, remedy)
    return Finding(FindingKind.DRIFT, lease_id, what, REPAIR, Mend.LEASE)


def _changes(service: Service, observation: Observation, step: Step, bugs: list[str]) -> list[WithheldWrite]:
    """Return the changes that converge would make; add to `bugs` the plugins that raise what their contract forbids."""
    found: list[WithheldWrite] = []
    for job in step.jobs:
        name = job.reservation.resource_type
        # `audit_plugins` reports a missing plugin once for all leases.
        plugin = None if name in service.settings.manager.forgotten_plugins else service.types.find(name)
        if plugin is None:
            continue
        try:
            found += observation.changes(partial(plugin.driver.converge, job=job, wanted=step.wanted_of(job)))
        except CloudError:
            raise
        except Exception as error:
            log.exception(
                "A bug in %s: reservation %s of lease %s could not be compared", name, job.name, step.lease.id
            )
            bugs.append(f"the plugin of {name!r} fails at reservation {job.name} ({type(error).__name__})")
    return found


def _standing(service: Service, lease_id: str) -> Step | None:
    """Return the KEEP step of an idle lease; None while the lease has work in progress or needs another step."""
    now = service.now()
    with service.db.reading() as connection:
        lease, work = find_lease(connection, lease_id), work_of(connection, LEASE, lease_id)
        if lease is None or work is None or work.busy(now) or phase_of(lease, now) is not Phase.KEEP:
            return None
        return Step(Phase.KEEP, lease, jobs_of(service, connection, lease), {})


MOST_NAMED = 8
"""The most leases that a finding names; it counts the rest."""
_REMEDY = (
    "Install the plugin again and restart the managers. If none of its objects are left in the cloud, add the type to "
    "[manager] forgotten_plugins: leases of it can end then."
)


def audit_plugins(service: Service) -> Iterator[Finding]:
    """Yield a finding for each resource type of unfinished reservations whose plugin cannot be used."""
    with service.db.reading() as connection:
        missing = [name for name in types_in_use(connection) if service.types.find(name) is None]
        using = {name: leases_using(connection, name) for name in missing}
    for name, leases in using.items():
        what = f"The plugin of the resource type {name!r} cannot be used here, and {_said(leases)}."
        yield Finding(FindingKind.PLUGIN, name, what, _REMEDY)


def _said(leases: list[str]) -> str:
    named = ", ".join(leases[:MOST_NAMED])
    rest = f" and {len(leases) - MOST_NAMED} more" if len(leases) > MOST_NAMED else ""
    return f"{len(leases)} {'lease has' if len(leases) == 1 else 'leases have'} reservations of it: {named}{rest}"


_UNKNOWN = (
    "Another installation may use it, or it dates from before a restore of the database. If it is unused, remove it by "
    "hand."
)


def audit_leftovers(service: Service, look: Look, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield a finding for each reservation that is over or unknown and has cloud objects; reads the cloud first."""
    things: dict[str, list[CloudObject]] = {}
    for thing in objects_of_ours(look, types):
        things.setdefault(thing.reservation_id, []).append(thing)
    now = service.now()
    with service.db.reading() as connection:
        known = service.owners(connection, things.keys())
        over = {ident: owner.lease_id for ident, owner in known.items() if owner.over}
        leases = sorted(set(over.values()))
        busy = {lease_id for lease_id in leases if (work_of(connection, LEASE, lease_id) or IDLE).busy(now)}
    for ident, found in sorted(things.items()):
        has = ", ".join(map(str, found))
        if ident not in known:
            what = f"The reservation {ident} is not in the database, but the cloud has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, _UNKNOWN)
        elif ident in over and over[ident] not in busy:
            what = f"The reservation {ident} of lease {over[ident]} is over, but the cloud still has: {has}."
            yield Finding(FindingKind.LEFTOVER, ident, what, REPAIR, Mend.REMOVAL)
