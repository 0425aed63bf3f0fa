"""Scenes in which an API is killed while it serves a request, and the client retries."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests

from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from tests.factory import DEMO
from tests.harness.programs import API
from tests.harness.scenes import HOUR, NAME, Scene, active, is_gone, lease_of, pending, wishes
from tests.harness.visitor import NEWEST, NO_ANSWER, Asked, Outcome, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.factory import World
    from tests.harness.programs import Program
    from tests.harness.stage import Stage

PATIENCE = 60.0
KEY = "the-same-key"
Ask = tuple[str, str, "dict[str, Any] | None"]
"""The method, path and body of a request."""


@dataclass(frozen=True, slots=True)
class ApiScene(Scene):
    """One request. `right(world)` tells whether it took effect; `refusals` are the statuses that a retry may get."""

    ask: Callable[[Stage], Ask] = field(kw_only=True)
    refusals: frozenset[int] = frozenset()
    program: str = API

    def act(self, stage: Stage, program: Program) -> None:
        """Send the request; no manager runs, so the work that becomes due stays open."""
        answer = _answer(program.url, self.ask(stage))
        assert answer.outcome is Outcome.GRANTED, answer

    def begin(self, stage: Stage, program: Program) -> Future[Asked]:
        """Send the request in a thread, because the API may be stopped before it dies."""
        with_one_thread = ThreadPoolExecutor(1)
        try:
            return with_one_thread.submit(_answer, program.url, self.ask(stage))
        finally:
            with_one_thread.shutdown(wait=False)

    def finish(self, stage: Stage, begun: Future[Asked], others: Sequence[Program]) -> float:
        """Wait until no work is open, compare the state with the client's answer, then repeat the request."""
        answer = begun.result(PATIENCE)
        seconds = stage.wait_until(lambda _world: True)
        stage.check()
        assert answer.status == NO_ANSWER or self.right(stage.world), f"answered {answer.status}, and it is not so"
        again = _answer(others[0].url, self.ask(stage))
        assert again.outcome is Outcome.GRANTED or again.status in self.refusals, again
        stage.wait_until(self.right)
        return seconds


def _answer(url: str, ask: Ask) -> Asked:
    with requests.Session() as session:
        newest = NEWEST if ask[1].startswith("/offers/") else {}
        return Visitor(0, session, url).ask(*ask, headers={"Idempotency-Key": KEY, **newest})


def _creation(stage: Stage) -> Ask:
    """Request the same lease at every call: the times count from the start of the stage."""
    start = stage.begun + HOUR
    times = {"start_date": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end_date": f"{start + 2 * HOUR:%Y-%m-%dT%H:%M:%SZ}"}
    body = {"name": NAME, "reservations": [dict(wish) for wish in wishes()], "events": [], **times}
    return "POST", "/leases", body


def _offered(world: World) -> None:
    """Make an offer that does not lapse while the scene is tried."""
    start = world.now().replace(microsecond=0) + HOUR
    draft = LeaseDraft(NAME, start, start + 2 * HOUR, reservations=wishes(), fingerprint="a", hold=24 * HOUR)
    create_lease(world.service, DEMO, draft)


def _acceptance(stage: Stage) -> Ask:
    (row,) = stage.rows()["leases"]
    return "POST", f"/offers/{row['id']}/accept", None


def _is_accepted(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and lease.status == "PENDING"


def _longer(stage: Stage) -> Ask:
    lease = lease_of(stage.world)
    assert lease is not None
    end = stage.begun + 10 * HOUR
    return "PUT", f"/leases/{lease.id}", {"end_date": f"{end:%Y-%m-%dT%H:%M:%SZ}"}


def _is_longer(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and lease.window.end - world.now() > 8 * HOUR


def _deletion(stage: Stage) -> Ask:
    (row,) = stage.rows()["leases"]
    return "DELETE", f"/leases/{row['id']}", None


def _is_there(world: World) -> bool:
    return lease_of(world) is not None


NOT_FOUND = frozenset({404})
API_SCENES = (
    ApiScene("POST", lambda _world: None, _is_there, ask=_creation),
    ApiScene("accept", _offered, _is_accepted, ask=_acceptance),
    ApiScene("PUT pending", pending, _is_longer, ask=_longer),
    ApiScene("PUT active", active, _is_longer, 1, ask=_longer),
    ApiScene("DELETE pending", pending, is_gone, ask=_deletion, refusals=NOT_FOUND),
    ApiScene("DELETE active", active, is_gone, 1, ask=_deletion, refusals=NOT_FOUND),
)
