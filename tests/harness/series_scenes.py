"""Scenes in which an API is killed while it grants, moves or deletes a series of leases, and the client retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.features.series.model import SeriesDraft
from leasehold.features.series.use import SERIES, make_series
from leasehold.leasing.reading.queries import each_lease
from leasehold.model.windows import Window
from tests.factory import DEMO, hosts
from tests.harness.asking import NOT_FOUND, ApiScene, Ask
from tests.harness.scenes import HOUR, NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from tests.factory import World
    from tests.harness.programs import Program
    from tests.harness.stage import Stage
    from tests.harness.visitor import Asked

DAYS = 3
MOVED = "moved"
RULE = f"FREQ=DAILY;COUNT={DAYS}"


@dataclass(frozen=True, slots=True)
class SeriesScene(ApiScene):
    """A request about a series, which names all leases that there are whenever the API dies."""

    def finish(self, stage: Stage, begun: Future[Asked], others: Sequence[Program]) -> float:
        """Compare the series with the leases before and after the request is repeated."""
        begun.exception()
        _check_named(stage.world)
        # Not `super()`: a dataclass with slots is a new class, which the cell of `super` does not know.
        seconds = ApiScene.finish(self, stage, begun, others)
        _check_named(stage.world)
        return seconds


def _check_named(world: World) -> None:
    """Check that the leases are exactly those that the series names, but for what is being deleted."""
    there = {lease.id for lease in list(each_lease(world.service, None))}
    named = {ident for each in SERIES.page(world.service, None) for ident in each.lease_ids}
    assert there <= named, f"no series names {there - named}"


def _made(world: World) -> None:
    start = world.now().replace(minute=0, second=0, microsecond=0) + 48 * HOUR
    draft = SeriesDraft(NAME, Window(start, start + HOUR), RULE, "UTC", (hosts(),))
    assert len(make_series(world.service, DEMO, draft).lease_ids) == DAYS


def _is_planned(world: World, name: str = NAME) -> bool:
    """Say whether there is a series of this name, with all its leases, each as planned."""
    made = [each for each in SERIES.page(world.service, None) if each.name == name]
    planned = {each.lease_id: each.window for series in made for each in series.occurrences}
    leases = {lease.id: lease.window for lease in list(each_lease(world.service, None))}
    return len(made) == 1 and len(leases) == DAYS and leases == planned


def _is_deleted(world: World) -> bool:
    return not SERIES.page(world.service, None) and not list(each_lease(world.service, None))


def _first(stage: Stage, hours: int) -> dict[str, str]:
    """Return the dates of a first occurrence that begins so many hours from the start of the stage."""
    start = stage.begun.replace(minute=0, second=0) + hours * HOUR
    return {"start_date": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end_date": f"{start + HOUR:%Y-%m-%dT%H:%M:%SZ}"}


def _creation(stage: Stage) -> Ask:
    return "POST", "/series", {"name": NAME, "rule": RULE, "reservations": [hosts()], **_first(stage, 48)}


def _path(stage: Stage) -> str:
    (row,) = stage.rows()["series"]
    return f"/series/{row['id']}"


SERIES_SCENES = (
    SeriesScene("POST series", lambda _world: None, _is_planned, ask=_creation),
    SeriesScene(
        "PUT series",
        _made,
        lambda world: _is_planned(world, MOVED),
        ask=lambda stage: ("PUT", _path(stage), {"name": MOVED, **_first(stage, 72)}),
    ),
    SeriesScene(
        "DELETE series", _made, _is_deleted, ask=lambda stage: ("DELETE", _path(stage), None), refusals=NOT_FOUND
    ),
)
