"""Many clients, several API processes, one database: no resource is allocated twice."""

from __future__ import annotations

import random
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.db.engine import open_engine
from tests.harness.database_checks import database_problems
from tests.harness.mix import ANYTHING
from tests.harness.programs import MANAGER, Fleet, launched
from tests.harness.tables import read_tables
from tests.harness.visitor import CLIENTS, all_at_once, statuses
from tests.processes import wait_for
from tests.race.conftest import HOSTS, VCPUS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.harness.visitor import Asked, Visitor

pytestmark = pytest.mark.slow

SEED = 20_261_121
MIXED_SECONDS, MIXED_AT_MOST = 3.0, 60.0
WANTED = (("POST", 201), ("POST", 409), ("PUT", 200), ("DELETE", 204))
"""The answers that a mixture needs before it ends, which take longer on a busy machine."""
EXPECTED = {
    ("POST", 201),
    ("POST", 409),
    ("PUT", 200),
    ("PUT", 404),
    ("PUT", 409),
    ("DELETE", 204),
    ("DELETE", 404),
}
BEGIN = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)


def only_for(group: str) -> dict[str, str]:
    return {**ANYTHING, "resource_properties": f'["==", "$for", "{group}"]'}


def hosts(group: str, low: int = 1, high: int | None = None) -> dict[str, Any]:
    return {"resource_type": "physical:host", "min": low, "max": high or low, **only_for(group)}


def lease(reservation: dict[str, Any], when: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the body of a create request with a unique name."""
    return {"name": uuid4().hex, "reservations": [reservation], **(when or window(0, 1))}


def window(start: float, hours: float) -> dict[str, str]:
    """Return a window of `hours` that begins `start` hours after a moment two days ahead."""
    begin = BEGIN + timedelta(hours=start)
    return {"start_date": begin.isoformat(), "end_date": (begin + timedelta(hours=hours)).isoformat()}


def check_answers_kept(site: Fleet, answers: Sequence[Asked]) -> None:
    """Compare the tables with the answers that the clients got; raise AssertionError on a difference."""
    tables = read_tables(site.database_url)
    assert database_problems(tables, datetime.now(UTC)) == []
    names = {row.name for row in tables["leases"]}
    asked = [answer for answer in answers if answer.method == "POST"]
    granted = {answer.name for answer in asked if answer.status == 201}
    refused = {answer.name for answer in asked} - granted
    assert granted <= names
    assert not refused & names


def test_the_last_host_goes_to_exactly_one(site: Fleet) -> None:
    answers = all_at_once(site, lambda visitor: visitor.create(lease(hosts("last"))))
    assert statuses(answers) == {("POST", 201): 1, ("POST", 409): CLIENTS - 1}
    (won,) = [answer for answer in answers if answer.status == 201]
    for answer in answers:
        if answer is not won:
            assert answer.body["code"] == "leasehold.resources.not_enough", answer.body
            assert answer.body["details"]["largest"] == 0
            assert answer.body["details"]["nearest"], answer.body
    check_answers_kept(site, answers)
    assert len(read_tables(site.database_url).allocated({won.body["lease"]["id"]})) == 1


def test_of_fifteen_at_once_all_that_fit_are_granted_and_no_more(site: Fleet) -> None:
    """Fifteen requests for one of five hosts: over three hours all fit, in one hour five do. Blazar granted ten."""

    def ask(hours: int) -> Callable[[Visitor], Asked]:
        return lambda visitor: visitor.create(lease(hosts("fifteen"), window(3 * hours + visitor.number % hours, 1)))

    spread = all_at_once(site, ask(3), clients=15)
    assert statuses(spread) == {("POST", 201): 15}
    same = all_at_once(site, ask(1), clients=15)
    assert statuses(same) == {("POST", 201): 5, ("POST", 409): 10}
    check_answers_kept(site, [*spread, *same])


def test_slots_are_never_promised_beyond_what_a_host_has(site: Fleet) -> None:
    size = {"vcpus": 5, "memory_mb": 1024, "disk_gb": 1, "affinity": None}
    where = only_for("slots")["resource_properties"]
    instances = {"resource_type": "virtual:instance", "amount": 1, **size, "resource_properties": where}
    fit = 2 * (VCPUS // 5)
    answers = all_at_once(site, lambda visitor: visitor.create(lease(instances)))
    assert statuses(answers) == {("POST", 201): fit, ("POST", 409): CLIENTS - fit}
    check_answers_kept(site, answers)


def test_one_idempotency_key_makes_one_lease(site: Fleet) -> None:
    body, key = lease(hosts("retry")), uuid4().hex
    answers = all_at_once(site, lambda visitor: visitor.create(body, **{"Idempotency-Key": key}))
    assert statuses(answers) == {("POST", 201): CLIENTS}
    assert len({answer.body["lease"]["id"] for answer in answers}) == 1
    check_answers_kept(site, answers)


def test_one_idempotency_key_for_different_requests_is_a_conflict(site: Fleet) -> None:
    key = uuid4().hex
    empty = {**lease(hosts("retry")), "reservations": []}

    def act(visitor: Visitor) -> Asked:
        return visitor.create({**empty, "name": f"{key}-{visitor.number}"}, **{"Idempotency-Key": key})

    assert statuses(all_at_once(site, act)) == {("POST", 201): 1, ("POST", 409): CLIENTS - 1}


class Mixture:
    """Clients that create, amend and delete leases at random, their own and each other's."""

    def __init__(
        self, group: str, seconds: float, when: Callable[[random.Random], dict[str, str]], waits: int = 4
    ) -> None:
        """Run for `seconds` on this group's hosts, and until all of WANTED was answered, with windows from `when`.

        Some leases wait for resources, for so many seconds.
        """
        self._group = group
        self._when = when
        self._waits = waits
        self._until = time.monotonic() + seconds
        self._at_most = self._until + MIXED_AT_MOST
        self._missing = set(WANTED)
        self._lock = threading.Lock()
        self._leases: list[str] = []

    def __call__(self, visitor: Visitor) -> list[Asked]:
        """Act as one client until the time is over; return all its requests."""
        rng = random.Random(SEED + visitor.number)  # noqa: S311 - a workload wants repeatable numbers
        answers = []
        while time.monotonic() < (self._at_most if self._missing else self._until):
            answers.append(self._once(visitor, rng))
            self._missing.discard((answers[-1].method, answers[-1].status))
        return answers

    def _once(self, visitor: Visitor, rng: random.Random) -> Asked:
        known, verb = self._pick(rng), rng.random()
        if known is None or verb < 0.5:
            body = lease(hosts(self._group, 1, rng.randint(1, 3)), self._when(rng))
            answer = visitor.create({**body, **(waiting(self._waits) if rng.random() < 0.2 else {})})
            if answer.status == 201:
                with self._lock:
                    self._leases.append(answer.body["lease"]["id"])
            return answer
        return visitor.amend(known, self._when(rng)) if verb < 0.8 else visitor.delete(known)

    def _pick(self, rng: random.Random) -> str | None:
        with self._lock:
            return rng.choice(self._leases[-20:]) if self._leases else None


def waiting(seconds: int) -> dict[str, str]:
    """Return the keys of a lease that waits for resources, for so many seconds."""
    deadline = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    return {"type": "waitlist", "deadline": deadline.isoformat()}


def far_away(rng: random.Random) -> dict[str, str]:
    return window(rng.randrange(0, 40), rng.randint(1, 6))


def at_once(rng: random.Random) -> dict[str, str]:
    """Return a window that begins within seconds and ends soon, so that managers work on the lease.

    Some are still ahead when a machine that is busy with other tests decides about them.
    """
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.choice((0, 1, 2, 8)))
    return {"start_date": begin.isoformat(), "end_date": (begin + timedelta(seconds=rng.randint(2, 8))).isoformat()}


def check_answers(answers: Sequence[Asked], *also: tuple[str, int]) -> None:
    """Check that every answer is an expected one, and that a race took place at all."""
    seen = statuses(answers)
    strange = [answer for answer in answers if (answer.method, answer.status) not in {*EXPECTED, *also}]
    assert not strange, f"seed {SEED}: {seen}, such as {strange[:3]}"
    for wanted in WANTED:
        assert seen.get(wanted), f"seed {SEED}: {seen}"


def test_random_creations_amendments_and_deletions_never_book_a_host_twice(site: Fleet) -> None:
    # Nobody tries them again here, and a request may take seconds while other tests keep the machine busy.
    mixture = Mixture("mixed", MIXED_SECONDS, far_away, waits=600)
    answers = [answer for each in all_at_once(site, mixture) for answer in each]
    check_answers(answers)
    check_answers_kept(site, answers)


def test_nor_do_they_while_managers_start_and_end_the_leases(site: Fleet, tmp_path: Path) -> None:
    with (
        launched(MANAGER, tmp_path, site.database_url),
        launched(MANAGER, tmp_path, site.database_url),
    ):
        answers = [answer for each in all_at_once(site, Mixture("busy", MIXED_SECONDS, at_once)) for answer in each]
        wait_for(lambda: nothing_is_due(site), within=60)
    # An active lease allows fewer amendments than a pending one, and a window may be over before it is decided.
    check_answers(answers, ("PUT", 400), ("POST", 400))
    check_answers_kept(site, answers)
    check_cloud(site)


def nothing_is_due(site: Fleet) -> bool:
    """Return whether the managers have finished the leases that begin at once; those of other tests are far away."""
    soon = datetime.now(UTC) + timedelta(hours=1)
    tables = read_tables(site.database_url)
    ours = {row.id for row in tables["leases"] if row.start_at <= soon}
    tasks = [row for row in tables["tasks"] if row.subject in ours]
    return all(row.claimed_by is None and (row.due_at is None or row.due_at > soon) for row in tasks)


def check_cloud(site: Fleet) -> None:
    """Check that every host is in the free pool and in no other aggregate, because no lease is active."""
    engine = open_engine(site.database_url)
    aggregates = sandbox(engine).aggregates.list()
    engine.dispose()
    for name in (f"busy-{number}" for number in range(HOSTS["busy"])):
        assert [each.name for each in aggregates if name in each.hosts] == ["freepool"]
