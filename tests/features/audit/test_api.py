"""What the audit has found, by the API: for administrators, from 1.3 on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.db.periodic_lock import add_periodic_lock, take_periodic_lock
from leasehold.features.audit import store
from leasehold.features.audit.job import Reconciler
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.use import AUDIT_LOCK
from leasehold.manager.periodic_thread import JobThread
from tests.jobs import job_of
from tests.web import LocalClient

if TYPE_CHECKING:
    from threading import Event

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

PATH = "/v1/audit"


@pytest.fixture
def operator(admin: Client, host: str) -> Client:
    """Return an administrator, where there is one host."""
    assert host
    return admin.but(version="1.3")


def test_a_round_is_asked_for_done_and_shown(operator: Client, service: Service, clock: Clock) -> None:
    empty: dict[str, Any] = {
        "interval_seconds": 600.0,
        "began_at": None,
        "ended_at": None,
        "under_way": False,
        "failure": None,
        "findings": [],
    }
    assert operator.ask("GET", PATH).json == {"audit": empty}
    service.cloud.aggregates.remove_host("freepool", "cmp-01")
    # One that pauses for no second: the two looks of a round are as near as can be.
    job_of(service, "audit").run_once()
    now = clock.now.isoformat()
    audit = operator.ask("GET", PATH).json["audit"]
    (found,) = audit["findings"]
    assert audit == {**empty, "began_at": now, "ended_at": now, "findings": [found]}
    assert (found["kind"], found["resource_type"], found["found_at"]) == ("place", "physical:host", now)
    assert "cmp-01" in found["what"]
    assert found["repair"].startswith("A manager puts the resource into its place")
    assert found["repaired"] == "The next manager that is free repairs it."


def test_a_manager_begins_a_round_when_one_is_asked_for(operator: Client, service: Service, clock: Clock) -> None:
    """Without the request the next round would begin ten minutes later."""
    manager, ends = job_of(service, "audit"), []
    for ask in (False, False, True):
        if ask:
            answer = operator.ask("POST", PATH)
            assert answer.status_code == 202
        manager.run_once()
        ends.append(operator.ask("GET", PATH).json["audit"]["ended_at"])
        clock.now = clock.now.replace(second=clock.now.second + 1)
    assert ends[0] == ends[1] != ends[2]


def test_a_round_under_way_is_not_begun_twice(operator: Client, service: Service, clock: Clock) -> None:
    transact, now = service.db.transact, clock.now
    transact(partial(add_periodic_lock, kind=AUDIT_LOCK))
    until = now.replace(minute=now.minute + 10)
    assert transact(partial(take_periodic_lock, kind=AUDIT_LOCK, now=now, until=until))
    transact(partial(store.begin_round, now=now))
    assert operator.ask("POST", PATH).json["audit"]["under_way"] is True
    assert not transact(partial(take_periodic_lock, kind=AUDIT_LOCK, now=now, until=until))


def test_a_round_that_a_defect_ends_is_not_under_way_any_more(operator: Client, service: Service, clock: Clock) -> None:
    service.cloud.aggregates.remove_host("freepool", "cmp-01")
    manager = Reconciler(service)

    def bug(stopping: Event, seconds: float) -> None:
        message = "a secret of the service"
        raise RuntimeError(message)

    manager._wait = bug  # type: ignore[method-assign]
    JobThread(manager.job()).run_once()
    audit = operator.ask("GET", PATH).json["audit"]
    assert (audit["under_way"], audit["ended_at"]) == (False, clock.now.isoformat())
    assert audit["failure"].endswith("the log of the managers has its traceback (RuntimeError).")
    assert operator.ask("POST", PATH).status_code == 202
    job_of(service, "audit").run_once()
    audit = operator.ask("GET", PATH).json["audit"]
    assert (audit["failure"], len(audit["findings"])) == (None, 1)


def test_where_no_manager_does_rounds_none_can_be_asked_for(
    operator: Client, service: Service, settings: ApiSettings
) -> None:
    off = service.settings.having(AuditSettings(0.0))
    web = LocalClient(make_app(replace(service, settings=off), settings))
    answer = replace(operator, web=web).ask("POST", PATH)
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.audit.off")


def test_members_learn_nothing_of_it(client: Client) -> None:
    for method in ("GET", "POST"):
        assert client.but(version="1.3").ask(method, PATH).status_code == 403
