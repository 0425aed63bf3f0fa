"""The composition root: only this module builds a running service from a configuration."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.cloud.sandbox import tables as sandbox_tables
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cmd import database
from leasehold.cmd.memory import keep_freed_memory, keep_what_is_loaded
from leasehold.conf import blazar, default_properties
from leasehold.db import schema
from leasehold.db.clock import shared_clock
from leasehold.db.engine import open_engine
from leasehold.db.pool import ensure_pools
from leasehold.db.store import Database
from leasehold.enforcement.base import load_filters
from leasehold.features.registry import (
    FEATURES,
    clauses,
    enforcing,
    estimators,
    listeners,
    owns,
    records,
    sources,
    stays,
    ways,
    words,
)
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.deciding.waiting_order import load_order
from leasehold.leasing.service import Service
from leasehold.leasing.tally import PAUSE_SECONDS
from leasehold.manager.jobs import core_jobs
from leasehold.manager.metrics import metrics_served
from leasehold.manager.monitor import Monitor
from leasehold.manager.periodic_thread import JobThread, PeriodicThread
from leasehold.manager.worker import Worker
from leasehold.resource_types.policies import load_weighers
from leasehold.resource_types.registry import PluginError, load_types
from leasehold.resource_types.strategy import load_strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from threading import Event

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Cloud
    from leasehold.conf import Config
    from leasehold.conf.settings import LeaseSettings
    from leasehold.resource_types.registry import ResourceTypes

log = logging.getLogger(__name__)

SPARE_CONNECTIONS = 6
"""Connections for claims, renewals, events, alarms, health checks and the sandbox, and one for each worker."""


def build_service(config: Config, wake: Event) -> Service:
    """Return the service that `config` describes, on a database whose schema is up to date.

    `wake` is set when work becomes due, for a manager in the same process. Raises SchemaError, PluginError,
    UnknownFilterError, or OperatorError if the database does not answer, each with a sentence for the operator.
    """
    keep_freed_memory()
    settings = config.settings
    connections = sum(each.connections(settings) for each in FEATURES)
    engine = open_engine(
        config.database_url,
        pool_size=config.api.threads + settings.manager.workers + connections + SPARE_CONNECTIONS,
        settings=config.database,
        region=config.api.region,
    )
    with database.reachable(config.database_url):
        schema.check(engine)
    service = service_on(engine, config, wake)
    with database.reachable(config.database_url):
        ensure_pools(service.db, service.types.pools())
    keep_what_is_loaded()
    # Only now are the options of the plugins known.
    for sentence in blazar.ineffective(config.raw):
        log.warning(sentence)
    return service


def service_on(engine: Engine, config: Config, wake: Event) -> Service:
    """Return the service that `config` describes on a database that is open already."""
    settings = config.settings
    weighers = load_weighers(settings.leases.weigher, settings.leases.weigher_by_type)
    types = load_types(settings.plugins, config.raw)
    _check_types(settings.leases, types)
    db = Database(engine, config.database.retry_seconds)
    cloud = _open_cloud(config, engine)
    return Service(
        db=db,
        calendars=Calendars(weighers),
        questions=Calendars(weighers),
        types=types,
        cloud=cloud,
        settings=settings,
        enforcement=load_filters(settings.leases, enforcing(settings, cloud)),
        waiting_order=load_order(settings.leases.waiting_order),
        strategy=load_strategy(settings.cloud.displacement_strategy),
        now=shared_clock(engine, timedelta(seconds=config.database.clock_jump_seconds)),
        wake=wake.set,
        words=words(),
        owns=owns(),
        sources=sources(),
        listeners=listeners(db, PAUSE_SECONDS),
        ways=ways(),
        clauses=clauses(settings),
        estimators=estimators(settings),
        records=records(settings),
        stays=stays(),
    )


def _check_types(settings: LeaseSettings, types: ResourceTypes) -> None:
    """Raise PluginError if an option names a type that no package provides, or one without resources to clean."""
    cleaned = "[DEFAULT] cleaning_time_by_type"
    named: Mapping[str, Iterable[str]] = {
        cleaned: settings.cleaning_time_by_type,
        "[DEFAULT] lead_time_by_type": settings.lead_time_by_type,
        default_properties.NAME: settings.default_properties_by_type,
    }
    for option, names in named.items():
        for name in names:
            found = types.installed(name)
            if found is None:
                message = f"{option} names {name!r}, which no installed package provides: correct the name."
                raise PluginError(message)
            if option == cleaned and found.kind.resources != name:
                message = f"{option} names {name}, which uses other resources: name {found.kind.resources}."
                raise PluginError(message)


def load_calendars(service: Service) -> None:
    """Read all allocations now; otherwise the first request reads them, and blocks the other processes meanwhile."""
    with service.db.reading() as connection:
        service.calendars.load(connection, service.now())


def _open_cloud(config: Config, engine: Engine) -> Cloud:
    if config.settings.cloud.driver != "sandbox":
        return openstack_cloud(config.raw)
    with database.reachable(config.database_url):
        sandbox_tables.create(engine)
    return sandbox(engine)


@contextmanager
def managing(service: Service, wake: Event) -> Iterator[None]:
    """Run a manager in this process for the length of the block; it finishes its tasks before the block ends."""
    settings = service.settings.manager
    worker = Worker(service, wake)
    jobs = [*core_jobs(service), *(job for each in FEATURES for job in each.jobs(service))]
    periodic = [each if isinstance(each, PeriodicThread) else JobThread(each) for each in jobs]
    if any(each.name not in settings.unpolled for each, _ in service.types.reporting()):
        periodic.append(Monitor(service))
    worker.start()
    for periodic_thread in periodic:
        periodic_thread.start()
    try:
        with metrics_served(service, settings.metrics, "manager"):
            yield
    finally:
        end = monotonic() + settings.shutdown_seconds
        for periodic_thread in periodic:
            periodic_thread.begin_to_stop()
        worker.stop()
        for periodic_thread in periodic:
            periodic_thread.stop(max(0.0, end - monotonic()))
