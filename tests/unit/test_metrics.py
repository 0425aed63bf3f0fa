"""The metrics, and that no label value comes from a client's input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from leasehold.metrics.cloud import TRANSIENT, count_call
from leasehold.metrics.decision import decision
from leasehold.metrics.request import count_request
from leasehold.metrics.state_gauges import StateGaugesCollector
from leasehold.model.errors import LeaseholdError, NotEnoughError
from tests.factory import hosts, run_manager

if TYPE_CHECKING:
    from collections.abc import Callable

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


def test_how_late_work_is_begun(world: World) -> None:
    world.lease(hosts(), start=0, end=5)
    world.clock.advance(seconds=40)
    late = added(lambda: run_manager(world), "leasehold_task_late_seconds_sum", kind="lease")
    assert late == pytest.approx(40)


def test_calls_to_the_cloud_by_service_and_outcome() -> None:
    labels = {"service": "nova", "outcome": TRANSIENT}
    assert added(lambda: count_call("nova", TRANSIENT, 0.5), "leasehold_cloud_calls_total", **labels) == 1


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
