"""An API dies, or its connection breaks, while it decides many requests together.

Another connection holds the pool until all requests wait. Then the first to come is decided by itself, and the others
that join in the next commit, which is where it happens.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import requests

from tests.harness.evidence import kept_when_wrong
from tests.harness.mix import ANYTHING
from tests.harness.programs import API, MANAGER, launched
from tests.harness.relay import POOL, Cut, relayed
from tests.harness.report import Report
from tests.harness.stage import SHORT_CLAIMS
from tests.harness.steps import Moment, Place, Plan
from tests.harness.tables import read_tables
from tests.harness.visitor import Asked, Outcome, Visitor
from tests.harness.waiting import pool_held, wait_for_requests
from tests.processes import merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.harness.stage import Rows, Stage

EACH = 8
"""Requests of each verb. There are five hosts, so of those that ask for one in the same hour three are refused."""
HOSTS = 5
OPTIONS = merged(SHORT_CLAIMS, {"api": {"threads": 4 * EACH, "max_waiting": EACH}})
"""All are worked on at the same time, and the stacks of a process show no more than a hundred threads."""
HOUR = timedelta(hours=1)
LEAST = 2
"""So many requests are granted together at least."""
BATCH = 2
"""The number of the step in which that is committed: the first is that of the request which waits for nobody."""
Ask: TypeAlias = Callable[[Visitor], Asked]


class Fault(Enum):
    """What happens: the API dies, or its connection breaks."""

    WAITING = "dies while all wait"
    BEFORE = "dies before the commit"
    WITHIN = "dies while the database commits"
    AFTER = "dies after the commit"
    QUESTION = "loses the commit"
    ANSWER = "loses the answer of the commit"

    def __str__(self) -> str:
        """Return its name in a test."""
        return self.name.lower()

    @property
    def commits(self) -> bool:
        """Whether the database is told to commit."""
        return self in (Fault.WITHIN, Fault.AFTER, Fault.ANSWER)


CUTS = {Fault.WITHIN: Cut.ANSWER, Fault.QUESTION: Cut.QUESTION, Fault.ANSWER: Cut.ANSWER}
"""Those for which a relay is needed, and so a server. Where SQLite commits, its own promise holds."""
MOMENTS = {Fault.BEFORE: Moment(BATCH, Place.BEFORE), Fault.AFTER: Moment(BATCH, Place.AFTER)}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stage with leases to amend and to delete, the answers that made them, and its rows."""

    stage: Stage
    made: Mapping[str, Sequence[Asked]]
    rows: Rows

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        return [each for asked in self.made.values() for each in asked]


def prepared_on(stage: Stage) -> Prepared:
    """Make leases to amend and to delete."""
    with launched(API, stage.folder, stage.url, options=OPTIONS) as api, requests.Session() as session:
        visitor = Visitor(0, session, api.url)
        made = {
            # Half of those that are amended come before the hour that all of them want, and half after it.
            verb: [visitor.create(_wanted(stage, place + 2 * (number % 2))) for number in range(EACH)]
            for place, verb in ((100, "amend"), (200, "delete"))
        }
    assert {each.status for asked in made.values() for each in asked} == {201}
    return Prepared(stage, made, stage.rows())


def _wanted(stage: Stage, hour: int) -> dict[str, Any]:
    """Return the body that asks for a host for an hour."""
    start = stage.begun + hour * HOUR
    part = {"resource_type": "physical:host", "min": 1, "max": 1, **ANYTHING}
    return {"name": uuid4().hex, **_dates(start=start, end=start + HOUR), "reservations": [part], "events": []}


def _dates(**moments: Any) -> dict[str, str]:
    return {f"{name}_date": f"{moment:%Y-%m-%dT%H:%M:%SZ}" for name, moment in moments.items()}


def _creations(prepared: Prepared) -> list[Ask]:
    """Ask for a host in the same hour; each has its key."""
    bodies = [_wanted(prepared.stage, 300) for _ in range(EACH)]
    return [partial(Visitor.create, body=body, **{"Idempotency-Key": body["name"]}) for body in bodies]


def _amendments(prepared: Prepared) -> list[Ask]:
    """Extend leases into the same hour, from both sides."""
    begin = prepared.stage.begun + 101 * HOUR
    longer = (_dates(end=begin + HOUR), _dates(start=begin))
    return [
        partial(Visitor.amend, lease_id=each.lease_id, body={"name": uuid4().hex, **longer[number % 2]})
        for number, each in enumerate(prepared.made["amend"])
    ]


def _deletions(prepared: Prepared) -> list[Ask]:
    return [partial(Visitor.delete, lease_id=each.lease_id) for each in prepared.made["delete"]]


VERBS: dict[str, Callable[[Prepared], list[Ask]]] = {
    "create": _creations,
    "amend": _amendments,
    "delete": _deletions,
}
CROWDS = {**{verb: (verb,) for verb in VERBS}, "all": tuple(VERBS)}


def done_wholly_or_not_at_all(before: Prepared, crowd: str, fault: Fault) -> None:
    """Send the requests of a crowd to an API to which this happens, and judge what each got, and what was done."""
    stage = before.stage
    stage.restore(before.rows)
    asks = [ask for verb in CROWDS[crowd] for ask in VERBS[verb](before)]
    answers = _answers(stage, asks, fault)
    with (
        launched(API, stage.folder, stage.url, options=OPTIONS) as api,
        launched(MANAGER, stage.folder, stage.url, options=OPTIONS) as manager,
        kept_when_wrong(stage, f"batch {crowd} {fault.name}", [api, manager]),
    ):
        _check(stage, [*before.asked, *answers])
        _check_batch(fault, answers, _done(stage, answers))
        unsure = [ask for ask, answer in zip(asks, answers, strict=True) if answer.outcome is Outcome.UNKNOWN]
        again = [_answer(api.url, ask) for ask in unsure]
        assert {answer.status for answer in again} <= {200, 201, 204, 404, 409}
        _check(stage, [*before.asked, *answers, *again])


def _answers(stage: Stage, asks: Sequence[Ask], fault: Fault) -> list[Asked]:
    """Send all requests to an API to which this happens, and return what each client got."""
    with ExitStack() as stack:
        relay, url = stack.enter_context(relayed(stage.url)) if fault in CUTS else (None, stage.url)
        plan = Plan(stage.folder / "doomed.steps", MOMENTS.get(fault))
        api = stack.enter_context(launched(API, stage.folder, url, plan, options=OPTIONS))
        if relay is not None:
            relay.of, relay.skip, relay.cut = POOL, BATCH - 1, CUTS[fault]
            relay.kill = api.kill if fault is Fault.WITHIN else None
        threads = stack.enter_context(ThreadPoolExecutor(len(asks)))
        release = stack.enter_context(pool_held(stage.url))
        asked = [threads.submit(_answer, api.url, ask) for ask in asks]
        wait_for_requests(api, len(asks))
        if fault is Fault.WAITING:
            api.kill()
        release()
        if fault in MOMENTS:
            api.wait_for_death()
        elif relay is not None:
            assert relay.done.wait(60)
        return [each.result() for each in asked]


def _answer(url: str, ask: Ask) -> Asked:
    with requests.Session() as session:
        return ask(Visitor(0, session, url))


def _check(stage: Stage, asked: Sequence[Asked]) -> None:
    """Compare the answers with the tables and the cloud, when no work is left, and the books with each other."""
    stage.wait_until(lambda _world: True)
    stage.check()
    Report(0, asked, 0.0, 0.0, ()).check(stage.url, outage=True)


def _done(stage: Stage, answers: Sequence[Asked]) -> list[Asked]:
    """Return the requests that took effect, as the tables have it."""
    rows = read_tables(stage.url, ("leases",))["leases"]
    names, deleted = {row.name for row in rows}, {row.id for row in rows if row.deleted_at}
    return [each for each in answers if (each.name in names if each.name else each.lease_id in deleted)]


def _check_batch(fault: Fault, answers: Sequence[Asked], done: Sequence[Asked]) -> None:
    """Make sure that it happened where it should: to a batch that grants several requests."""
    unsure = [each for each in answers if each.status == 503]
    if fault in CUTS and fault is not Fault.WITHIN:
        assert len(unsure) >= LEAST
        assert [each in done for each in unsure] == [fault.commits] * len(unsure)
    elif fault.commits:
        assert len(done) >= BATCH - 1 + LEAST
    else:
        assert len(done) == (0 if fault is Fault.WAITING else BATCH - 1)
