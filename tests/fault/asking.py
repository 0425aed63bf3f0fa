"""Scenes in which an API is killed while it serves a request, and the client retries."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests

from tests.fault.mixed import wishes
from tests.fault.scenes import HOUR, NAME, active, grant, is_gone, lease_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.factory import World
    from tests.fault.program import Launched
    from tests.fault.stage import Stage

PATIENCE = 60.0
KEY = "the-same-key"
Ask = dict[str, Any]
"""The arguments of `requests.request`, with a path instead of a URL."""


@dataclass(frozen=True, slots=True)
class ApiScene:
    """One request. `done(world)` tells whether it took effect; `refusals` are the statuses that a retry may get."""

    name: str
    setting: Callable[[Stage], object]
    ask: Callable[[Stage], Ask]
    done: Callable[[World], bool]
    refusals: frozenset[int] = frozenset()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    program: str = "leasehold-api"

    def set_up(self, stage: Stage) -> None:
        """Create the state that the request needs."""
        self.setting(stage)

    def act(self, stage: Stage, program: Launched) -> None:
        """Send the request; no manager runs, so the work that becomes due stays open."""
        answer = _answer(program.url, self.ask(stage))
        assert answer is not None
        assert answer.ok, answer.text

    def begin(self, stage: Stage, program: Launched) -> Future[requests.Response | None]:
        """Send the request in a thread, because the API may be stopped before it dies."""
        with_one_thread = ThreadPoolExecutor(1)
        try:
            return with_one_thread.submit(_answer, program.url, self.ask(stage))
        finally:
            with_one_thread.shutdown(wait=False)

    def finish(self, stage: Stage, begun: Future[requests.Response | None], others: Sequence[Launched]) -> float:
        """Wait until no work is open, compare the state with the client's answer, then repeat the request."""
        answer = begun.result(PATIENCE)
        seconds = stage.wait_until(lambda _world: True)
        stage.check()
        assert answer is None or self.done(stage.world), f"answered {answer.status_code}, and it is not so"
        again = _answer(others[0].url, self.ask(stage))
        assert again is not None
        assert again.ok or again.status_code in self.refusals, again.text
        stage.wait_until(self.done)
        return seconds


def _answer(url: str, ask: Ask) -> requests.Response | None:
    """Return the answer, or None when the connection broke before the answer arrived."""
    headers = {"OpenStack-API-Version": "reservation 1.1", "Idempotency-Key": KEY}
    try:
        return requests.request(
            ask["method"], url + ask["path"], json=ask.get("json"), headers=headers, timeout=PATIENCE
        )
    except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
        return None


def _creation(stage: Stage) -> Ask:
    """Request the same lease at every call: the times count from the start of the stage."""
    start = stage.begun + HOUR
    times = {"start_date": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end_date": f"{start + 2 * HOUR:%Y-%m-%dT%H:%M:%SZ}"}
    body = {"name": NAME, "reservations": [dict(wish) for wish in wishes()], "events": [], **times}
    return {"method": "POST", "path": "/leases", "json": body}


def _longer(stage: Stage) -> Ask:
    lease = lease_of(stage.world)
    assert lease is not None
    end = stage.begun + 10 * HOUR
    return {"method": "PUT", "path": f"/leases/{lease.id}", "json": {"end_date": f"{end:%Y-%m-%dT%H:%M:%SZ}"}}


def _is_longer(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and lease.window.end - world.now() > 8 * HOUR


def _deletion(stage: Stage) -> Ask:
    (row,) = stage.rows()["leases"]
    return {"method": "DELETE", "path": f"/leases/{row['id']}"}


def _is_there(world: World) -> bool:
    return lease_of(world) is not None


def _pending(stage: Stage) -> None:
    grant(stage, start=HOUR, end=3 * HOUR)


NOT_FOUND = frozenset({404})
API_SCENES = (
    ApiScene("POST", lambda _stage: None, _creation, _is_there),
    ApiScene("PUT pending", _pending, _longer, _is_longer),
    ApiScene("PUT active", active, _longer, _is_longer),
    ApiScene("DELETE pending", _pending, _deletion, is_gone, NOT_FOUND),
    ApiScene("DELETE active", active, _deletion, is_gone, NOT_FOUND),
)
