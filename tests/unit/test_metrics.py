"""The metrics, and that no label value comes from a client's input."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from leasehold.db.engine import open_engine, reading, writing
from leasehold.features.audit.job import FINDINGS, Reconciler
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.manager.worker import Worker
from leasehold.metrics.cloud import TRANSIENT, count_call
from leasehold.metrics.decision import decision
from leasehold.metrics.request import count_request
from leasehold.metrics.state_gauges import StateGaugesCollector
from leasehold.metrics.task import TASKS
from leasehold.model.errors import LeaseholdError, NotEnoughError
from tests.factory import hosts, run_manager

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leasehold.metrics.state_gauges import StateGauges
    from tests.factory import World


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def added(work: Callable[[], object], name: str, **labels: str) -> float:
    before = value(name, **labels)
    work()
    return value(name, **labels) - before


def tasks(world: World, phase: str, outcome: str) -> float:
    return added(lambda: run_manager(world), "leasehold_tasks_total", kind="lease", phase=phase, outcome=outcome)


@pytest.mark.slow
def test_a_granted_lease_is_counted(world: World) -> None:
    labels = {"operation": "create", "outcome": "granted", "code": ""}
    assert added(lambda: world.lease(hosts(), start=0, end=1), "leasehold_decisions_total", **labels) == 1


def test_a_refused_one_with_its_code(world: World) -> None:
    def ask() -> None:
        with pytest.raises(NotEnoughError):
            world.lease(hosts(99), start=0, end=1)

    labels = {"operation": "create", "outcome": "refused", "code": NotEnoughError.code}
    assert added(ask, "leasehold_decisions_total", **labels) == 1


def test_an_amendment_is_a_decision_too(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    labels = {"operation": "amend", "outcome": "granted", "code": ""}
    assert added(lambda: world.amend(lease, name="other"), "leasehold_decisions_total", **labels) == 1


def test_what_breaks_in_a_decision_is_our_fault() -> None:
    @decision("create")
    def broken() -> None:
        raise ZeroDivisionError

    def ask() -> None:
        with pytest.raises(ZeroDivisionError):
            broken()

    labels = {"operation": "create", "outcome": "failed", "code": ""}
    assert added(ask, "leasehold_decisions_total", **labels) == 1


def test_a_start_is_done_or_tried_again_or_fails(world: World) -> None:
    world.break_down()
    world.lease(hosts(), start=0, end=5)
    assert tasks(world, "start", "retried") == 1
    world.cloud.faults.clear()
    world.clock.advance(minutes=2)
    assert tasks(world, "start", "done") == 1
    world.refuse("aggregates.*")
    world.lease(hosts(), start=0.1, end=5)
    world.clock.advance(hours=1)
    assert tasks(world, "start", "retried") == 1
    for seconds in (1, 4):
        world.clock.advance(seconds=seconds)
        assert tasks(world, "start", "retried") == 1
    world.clock.advance(seconds=16)
    assert tasks(world, "start", "failed") == 1


def test_failures_are_at_zero_before_the_first(world: World) -> None:
    """Prometheus sees no increase in a series that appears with the value 1."""
    TASKS.clear()
    FINDINGS.clear()
    worker = Worker(world.service, Event())
    worker.start()
    worker.stop()
    for labels in ({"phase": "start", "outcome": "failed"}, {"phase": "", "outcome": "lost"}):
        assert REGISTRY.get_sample_value("leasehold_tasks_total", {"kind": "lease", **labels}) is not None
    Reconciler(world.service)
    labels = {"kind": "drift", "outcome": "left"}
    assert REGISTRY.get_sample_value("leasehold_audit_findings_total", labels) is not None


def test_how_late_work_is_begun(world: World) -> None:
    world.lease(hosts(), start=0, end=5)
    world.clock.advance(seconds=40)
    late = added(lambda: run_manager(world), "leasehold_task_late_seconds_sum", kind="lease")
    assert late == pytest.approx(40)


def test_calls_to_the_cloud_by_service_and_outcome() -> None:
    labels = {"service": "nova", "outcome": TRANSIENT}
    assert added(lambda: count_call("nova", TRANSIENT, 0.5), "leasehold_cloud_calls_total", **labels) == 1


def test_events_by_type_and_how_long_readers_waited(world: World) -> None:
    sequence_events(world.service)
    world.lease(hosts(), start=1, end=2)
    world.clock.advance(seconds=7)
    waited = value("leasehold_event_lag_seconds_sum")
    ask = lambda: sequence_events(world.service)  # noqa: E731 - a one-line helper.
    assert added(ask, "leasehold_events_total", type="lease.create") == 1
    assert value("leasehold_event_lag_seconds_sum") - waited == pytest.approx(7)


def test_the_connections_that_are_used(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/any.db")

    def used() -> float:
        return value("leasehold_database_connections_used", pool="writes")

    with writing(engine), reading(engine):
        assert used() == 2
        engine.dispose()
    assert used() == 0
    with reading(engine):
        assert used() == 1
    assert value("leasehold_database_connections_limit", pool="writes") == 15


def test_strangers_do_not_make_new_series() -> None:
    labels = {"route": "other", "method": "other", "status": "404"}
    ask = lambda: count_request(None, "BREW", 404, 0.1)  # noqa: E731 - a one-line helper.
    assert added(ask, "leasehold_requests_total", **labels) == 1


def test_every_code_is_a_plain_word() -> None:
    """Error codes are metric labels, which everyone with access to the metrics can read."""
    codes = {error.code for error in LeaseholdError.__subclasses__()}
    assert all(code.startswith("leasehold.") for code in codes)


def test_books_that_cannot_be_read_leave_the_rest_of_the_page() -> None:
    def take() -> StateGauges:
        raise OSError

    registry = CollectorRegistry()
    registry.register(StateGaugesCollector(take))
    page = generate_latest(registry).decode()
    assert "leasehold_database_up 0.0" in page
    assert "leasehold_leases" not in page
