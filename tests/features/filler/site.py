"""A service with fillers, run second by second as managers run it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.filler import store as rows
from leasehold.features.filler.model import FillerDraft
from leasehold.features.filler.options import FillerSettings
from leasehold.features.filler.rounds import Rounds, standings
from leasehold.features.filler.use import end_filler, make_filler
from leasehold.manager.monitor import check_once
from leasehold.model.caller import Caller
from tests.factory import AT_ONCE, World, hosts, make_service, run_manager
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from leasehold.cloud.ports import Server
    from leasehold.features.filler.model import FilledHost, Filler

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
USUAL = FillerSettings(hosts=10, every=timedelta(seconds=20))
MEMBER = Caller("filler-user", "filler-project")


@dataclass
class Site:
    """A world with the rounds of fillers, and a health check each minute."""

    world: World
    rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.world.service)

    @property
    def settings(self) -> FillerSettings:
        return self.world.service.settings.of(FillerSettings)

    def fill(self, least: int = 1, most: int | None = None, *, caller: Caller = MEMBER, **more: Any) -> Filler:
        """Ask for a filler; `more` is of the draft, but for `request`, which is of the reservation."""
        raw = hosts(least, most, **more.pop("request", {}))
        draft = FillerDraft(raw, more.pop("at_least", timedelta(0)), **more)
        return make_filler(self.world.service, caller, draft)

    def active(self, least: int = 1, most: int | None = None, **more: Any) -> Filler:
        """Ask for a filler, and give it its hosts."""
        made = self.fill(least, most, **more)
        self.rounds.run()
        assert {each.stage(self.world.now()).value for each in self.hosts(made)} == {"active"}
        return made

    def end(self, filler: Filler) -> Filler:
        return end_filler(self.world.service, filler.id)

    def hosts(self, filler: Filler) -> list[FilledHost]:
        with self.world.service.db.reading() as connection:
            return rows.hosts_of(connection, [filler.id])[filler.id]

    def labels(self, filler: Filler) -> dict[str, str]:
        """Return the state of each host by its name."""
        names = {each.number: each.label for each in self.world.listed()}
        now = self.world.now()
        return {names[each.resource_number]: each.stage(now).value for each in self.hosts(filler)}

    def guaranteed(self, filler: Filler) -> list[datetime | None]:
        with self.world.service.db.reading() as connection:
            found = standings(self.world.service, connection, self.hosts(filler))
        return [each.guaranteed_until(self.world.now()) for each in found]

    def boot(self, filler: Filler, position: int = 0, name: str = "server") -> Server:
        """Boot a server on a host of a filler, as its project does: with a hint."""
        ident = self.hosts(filler)[position].id
        return self.world.cloud.servers.boot(name, filler.project_id, "m1.small", [ident])

    def step(self) -> None:
        """Do what managers do at this moment."""
        self.rounds.run()
        run_manager(self.world)
        if self.world.now().second == 0:
            check_once(self.world.service)
            run_manager(self.world)

    def run_until(self, moment: datetime) -> None:
        """Let the time go by in rounds, up to a moment."""
        self.step()
        while self.world.now() < moment:
            self.world.clock.set(min(moment, self.world.now() + self.settings.every))
            self.step()

    def run_for(self, **parts: float) -> None:
        self.run_until(self.world.now() + timedelta(**parts))

    @property
    def hours(self) -> float:
        """The present moment, in hours of the world."""
        return (self.world.now() - self.world.hour(0)) / timedelta(hours=1)

    def checked(self) -> None:
        """Check that the database and the cloud agree."""
        audit(self.world)
        assert not audit_cloud(self.world.service, Pace(between_looks=0, wait=lambda _: None))


@contextmanager
def site(where: Path | str, names: tuple[str, ...] = HOSTS, **settings: Any) -> Iterator[Site]:
    """Yield a service with these hosts, on which there may be fillers."""
    with make_service(where, settings=AT_ONCE.having(replace(USUAL, **settings)), hosts=names) as world:
        yield Site(world)
