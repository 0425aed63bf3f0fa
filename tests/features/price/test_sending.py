"""Sending charges to a real CloudKitty: each once, whatever is lost on the way, and its total is ours."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, select

from leasehold import conf
from leasehold.cloud.openstack.rating import OpenStackRating, open_rating
from leasehold.cloud.ports import CloudTransientError
from leasehold.conf import ConfigurationError
from leasehold.features.price import sending
from leasehold.features.price.budget import from_micro
from leasehold.features.price.job import jobs
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.sending import SENT, send
from leasehold.features.price.store import charged, charges
from leasehold.model.windows import to_seconds
from tests.factory import ALT, hosts, instances, make_service, run_until
from tests.features.price.cloudkitty import CloudKitty, cloudkitty
from tests.features.price.test_closing import NAMES, PRICED, closed, live_until
from tests.processes import as_text
from tests.relay import CUT, Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal
    from pathlib import Path

    from tests.factory import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def kitty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudKitty]:
    with cloudkitty(tmp_path_factory.mktemp("cloudkitty")) as made:
        yield made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a world in which two projects have used hosts and instances for a day, one of them late."""
    with make_service(tmp_path, settings=PRICED, hosts=NAMES) as world:
        world.refuse("aggregates.ensure")
        late = world.lease(hosts(2), end=5)
        run_until(world, world.hour(0.5))
        world.cloud.faults.clear()
        run_until(world, world.hour(1.5))
        world.boot(late)
        world.active(instances(2), start=1.5, end=8, caller=ALT)
        live_until(world, 9.5)
        yield world


@dataclass
class Way:
    """The way to CloudKitty: requests by method, and which of them fail: `cut` before it, or after it, `lost`."""

    url: str
    asked: list[str] = field(default_factory=list)
    cut: int = 0
    lost: int = 0


@contextmanager
def way_to(kitty: CloudKitty) -> Iterator[Way]:
    way = Way("")

    class Between(Relay):
        def target(self) -> str:
            return f"{kitty.url}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            way.asked.append(self.command)
            if self.command == "POST" and way.cut:
                way.cut -= 1
                return CUT
            return None

        def loses(self) -> bool:
            if self.command == "POST" and way.lost:
                way.lost -= 1
                return True
            return False

    with listening(Between) as port:
        way.url = f"http://127.0.0.1:{port}"
        yield way


def rating(folder: Path, url: str) -> OpenStackRating:
    path = folder / "leasehold.conf"
    options: dict[str, dict[str, Any]] = {
        "database": {"connection": "sqlite://"},
        "cloud": {"auth_type": "none", "endpoint": "http://127.0.0.1:9"},
        "cloudkitty": {"auth_type": "none", "endpoint": url},
    }
    path.write_text(as_text(options))
    return open_rating(conf.load(["--config-file", str(path)]).raw)


def total(world: World, project: str | None = None) -> Decimal:
    which = [] if project is None else [charges.c.project_id == project]
    with world.service.db.reading() as connection:
        return from_micro(sum(connection.execute(select(charges.c.amount).where(*which)).scalars()))


def test_each_closed_period_is_sent_once_and_the_totals_agree(
    world: World, kitty: CloudKitty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "CHUNK", 3)
    begin, end = world.hour(-1), world.hour(48)
    with way_to(kitty) as way:
        here = rating(tmp_path, way.url)
        assert send(world.service, here) == 0, "nothing is closed yet"
        assert closed(world) == 9
        until = to_seconds(world.hour(9))
        # Before it and after it a call is lost: nobody knows what came of it.
        way.cut, way.lost = 1, 1
        for _ in range(2):
            with pytest.raises(CloudTransientError):
                send(world.service, here)
        assert send(world.service, here) == until
        posts = way.asked.count("POST")
        assert send(world.service, here) == until
        assert way.asked.count("POST") == posts
        # The database goes back to before all of it was sent.
        world.service.db.transact(lambda connection: connection.execute(delete(charged).where(charged.c.name == SENT)))
        assert send(world.service, here) == until
        assert way.asked.count("POST") == posts
    points = kitty.points(begin, end)
    with world.service.db.reading() as connection:
        assert len(points) == len(connection.execute(select(charges.c.id)).all())
    assert {point["metadata"]["kind"] for point in points} == {"flat", "used", "unused", "late"}
    for project in ("demo", "alt"):
        assert kitty.total(begin, end, project_id=project) == total(world, project) != 0
    assert kitty.total(begin, end) == total(world)


def test_what_is_closed_later_is_sent_later(world: World, kitty: CloudKitty, tmp_path: Path) -> None:
    here = rating(tmp_path, kitty.url)
    assert closed(world) == 9
    send(world.service, here)
    world.clock.set(world.hour(100))
    more = world.active(hosts(), start=100, end=104)
    run_until(world, world.hour(106.5))
    assert closed(world) == 105
    assert send(world.service, here) == to_seconds(world.hour(105))
    found = kitty.points(world.hour(99), world.hour(110))
    assert {point["metadata"]["lease_id"] for point in found} == {more.id}


def test_what_answers_is_no_cloudkitty(world: World, tmp_path: Path) -> None:
    assert closed(world) == 9

    class Other(Relay):
        def target(self) -> None:
            return None

        def trouble(self) -> tuple[int, bytes]:
            return 200, b'{"hello": "world"}'

    with listening(Other) as port, pytest.raises(CloudTransientError, match="what answers as CloudKitty is none"):
        send(world.service, rating(tmp_path, f"http://127.0.0.1:{port}"))


def test_the_sandbox_has_none(world: World) -> None:
    wanted = replace(world.service.settings.of(PriceSettings), to_cloudkitty=True)
    with pytest.raises(ConfigurationError, match=r"\[price\] to_cloudkitty: the sandbox has no CloudKitty"):
        jobs(world.with_settings(features={PriceSettings: wanted}).service)
