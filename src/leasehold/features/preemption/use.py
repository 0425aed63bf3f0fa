"""Tell projects that preemptible servers of theirs will be ended, because a lease starts soon, and end them in time.

It runs beside the starts, which wait for nothing here: a server that is not told of in time, or not ended, is ended by
the start (feature K1).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.outbox import put_project_event
from leasehold.features.preemption.model import Preemption
from leasehold.features.preemption.options import PreemptionSettings
from leasehold.features.preemption.store import forget_preemptions, leases_starting, put_preemption, told_preemptions
from leasehold.leasing.steps.lifecycle import jobs_of
from leasehold.model.event_log import ServerNews
from leasehold.resource_types.capabilities import Displacing
from leasehold.resource_types.displacement import Need, close_hosts, displaced_by
from leasehold.resource_types.strategy import load_strategy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.resource_types.driver import Convergence

log = logging.getLogger(__name__)


def warn_preemptibles(service: Service) -> int:
    """Close the hosts of leases that start soon, tell whose servers will be ended there, and return how many were told.

    A server is told of once, and again if the moment changes or if it may stay. What has to go is ended by the work of
    the start, which begins before the lease does by its lead.
    """
    settings, now = service.settings.cloud, service.now()
    with service.db.reading() as connection:
        soon = leases_starting(connection, now + service.settings.of(PreemptionSettings).grace)
        jobs = [(lease.begins, job) for lease in soon for job in jobs_of(service, connection, lease)]
        told = told_preemptions(connection)
    needs, sure = _needs(service, jobs)
    _close(service, {host.service_host for need in needs for host in need.hosts}, sure=sure)
    coming = [need for need in needs if need.since > now]
    found = displaced_by(service.cloud, coming, load_strategy(settings.displacement_strategy))
    ending = {
        ident: Preemption(ident, server.name, server.project_id, at) for ident, (server, at) in found.servers.items()
    }
    missing = [ident for ident, each in told.items() if ident not in ending and each.ends_at > now]
    spared, gone = _fate(service, missing) if sure and not found.unknown else (set(), set())
    return service.db.transact(lambda connection: _record(connection, ending, spared, gone, service.now()))


def _needs(service: Service, jobs: Sequence[tuple[datetime, Convergence[object]]]) -> tuple[list[Need], bool]:
    """Return what the reservations need of their hosts, and whether all of them could be asked."""
    needs, sure = [], True
    for starts_at, job in jobs:
        found = service.types.find(job.reservation.resource_type)
        if found is None or not isinstance(found.driver, Displacing):
            continue
        try:
            hosts = found.driver.needs(service.cloud, job)
        except CloudError as error:
            log.warning("What reservation %s needs at its start is not known yet: %s", job.name, error)
            sure = False
        except Exception:
            log.exception("A bug in %s: nobody is told that reservation %s starts", found.name, job.name)
            sure = False
        else:
            needs.append(Need(starts_at, hosts))
    return needs, sure


def _close(service: Service, hosts: Collection[str], *, sure: bool) -> None:
    """Close the hosts; without `sure` hosts that are not known may have to stay closed, so that nothing is changed."""
    if not sure:
        return
    try:
        close_hosts(service.cloud, hosts)
    except CloudError as error:
        log.warning("Preemptible servers may still come to hosts whose leases start soon: %s", error)


def _fate(service: Service, missing: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return which servers that were told of may stay now, and which of them are gone."""
    if not missing:
        return set(), set()
    try:
        there = {each.id for each in service.cloud.servers.with_ids(missing) if each.status != "DELETING"}
    except CloudError as error:
        log.warning("Which servers may stay is not known: %s", error)
        return set(), set()
    return there, set(missing) - there


def _record(
    connection: Connection,
    ending: Mapping[str, Preemption],
    spared: Collection[str],
    gone: Collection[str],
    now: datetime,
) -> int:
    """Write what has changed since it was told, with its events; return of how many ends projects are told now."""
    told = told_preemptions(connection)
    news = 0
    for ident, each in sorted(ending.items()):
        before = told.get(ident)
        if each.ends_at > now and (before is None or before.ends_at != each.ends_at):
            put_preemption(connection, each, now, again=before is not None)
            put_project_event(connection, ServerNews.ENDS, each.project_id, each.payload(), now)
            news += 1
    for ident in sorted(set(spared) & told.keys()):
        stays = told[ident]
        put_project_event(connection, ServerNews.STAYS, stays.project_id, stays.payload(), now)
    over = {ident for ident, each in told.items() if each.ends_at <= now and ident not in ending}
    forget_preemptions(connection, (set(spared) | set(gone) | over) & told.keys())
    return news
