"""The simulation: time goes from one thing that happens to the next, and observers look at every hour."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Final

from bench.simulation.by_hand import FOLLOWS, POLLS, ByHand
from bench.simulation.fillers import Fillers
from bench.simulation.hosts import troubles_of
from bench.simulation.lateness import Watch
from bench.simulation.manager import Manager
from bench.simulation.others import others_of
from bench.simulation.parts import AS_NOW
from bench.simulation.people import People
from bench.simulation.site import ADMIN, LEAD, SLOWEST_DELETION, open_site
from bench.simulation.sleeping import enrol_machines
from bench.simulation.utilisation import SAMPLES, Utilisation
from leasehold.db.past.history import purge
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.audit.database import audit_database
from leasehold.features.power.report import report
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.states import LeaseStatus
from leasehold.resource_types.displacement import open_all
from tests.harness.cloud_checks import cloud_problems
from tests.harness.database_checks import database_problems
from tests.harness.tables import read_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from bench.simulation.hosts import Hosts
    from bench.simulation.others import Others
    from bench.simulation.parts import Part
    from bench.simulation.plan import Wish
    from bench.simulation.site import Site
    from bench.simulation.source import Source
    from leasehold.features.power.report import Part as Where
    from leasehold.features.power.report import Saved

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
KEPT: Final = timedelta(days=2)
"""How long leases that are over stay in the database; the record of what was held stays for good."""
A_SHARED_ONE_TO: Final = 6
"""There is one shared host for so many hosts of the trace, beside them."""
AT_ONCE: Final = Pace(wait=lambda _seconds: None)


@dataclass
class Report:
    """What a simulation has seen.

    `findings` are those of the audits, each with its hour; `saved` is what sleeping hosts have saved; `seconds` is the
    processor time that it took.
    """

    people: People
    watch: Watch
    hosts: Hosts
    others: Others
    fillers: Fillers
    utilisation: Utilisation
    audits: int = 0
    findings: list[str] = field(default_factory=list)
    news: Counter[str] = field(default_factory=Counter)
    saved: Sequence[tuple[Where, Saved]] = ()
    seconds: float = 0.0

    @property
    def problems(self) -> list[str]:
        """What should not have been: leases that started late, and findings of an audit."""
        return [*map(str, self.watch.late), *self.findings]


def simulate(
    source: Source,
    seed: int,
    length: timedelta,
    part: Part = AS_NOW,
    *,
    database_url: str | None = None,
    by_hand: bool = False,
) -> Report:
    """Simulate the first `length` of a trace on a new site as in a part, and return what was seen.

    With `by_hand` the usage is recorded, and counted by hand as well. Without the URL of an empty database it is an
    SQLite file. The same source, seed and length give the same course.
    """
    with open_site(source.hosts, database_url, part.settings, source.hosts // A_SHARED_ONE_TO) as site:
        return Simulation(site, source.wishes(seed, part.loose), length, seed, part.lending, by_hand=by_hand).run()


class Simulation:
    """One site, its people and its hosts, over the time of the wishes and until all leases are over."""

    def __init__(
        self,
        site: Site,
        wishes: Iterable[Wish],
        length: timedelta,
        seed: int,
        lending: float = 0.0,
        *,
        by_hand: bool = False,
    ) -> None:
        """Put everything that happens by itself into the agenda; wishes after `length` are left out."""
        self._site, self._begun = site, site.now()
        self._end = self._begun + length
        enrol_machines(site, random.Random(f"machines-{seed}"))
        people = People(site, lending=lending, seed=seed)
        watch = Watch(site, people)
        hosts, others = troubles_of(site, seed, self._end), others_of(site, seed, self._end)
        fillers = Fillers(site, self._end)
        self.report = Report(people, watch, hosts, others, fillers, Utilisation(site, people))
        self.report.others.begin()
        fillers.begin()
        self._manager = Manager(site, watch.after_task)
        self._cursor, self._rng = "latest", random.Random(f"deletions-{seed}")
        for wish in wishes:
            moment = self._begun + timedelta(seconds=wish.moment)
            if moment < self._end:
                site.agenda.at(moment, partial(people.ask_for, wish))
        # What came before is the enrolment of the hosts.
        sequence_events(site.world.service)
        self._read_news()
        self.report.hosts.begin()
        self._repeat(HOUR / SAMPLES, self.report.utilisation.sample)
        self._repeat(HOUR, self._vary_deletions)
        self._repeat(DAY, self._purge)
        self._repeat(HOUR, self._read_news)
        self._repeat(HOUR, self._audit)
        self._by_hand = ByHand(site) if by_hand else None
        if self._by_hand is not None:
            self._repeat(POLLS, self._by_hand.poll)
            self._repeat(FOLLOWS, self._by_hand.follow)

    def run(self) -> Report:
        """Let everything happen up to the end."""
        site, begun = self._site, process_time()
        while True:
            self._manager.run_due()
            for work in site.agenda.due(site.now()):
                work()
                self._manager.run_due()
            moments = (site.agenda.next(), self._manager.next_due())
            moment = min(each for each in moments if each is not None)
            self._count(min(moment, self._end))
            if moment > self._end:
                break
            site.world.clock.set(moment)
        self.report.saved = report(site.world.service, self._begun, self._end)
        if self._by_hand is not None:
            self.report.findings += self._by_hand.differences()
        self._wind_up()
        self.report.seconds = process_time() - begun
        return self.report

    def _wind_up(self) -> None:
        """Let everybody give everything back, and compare what is left with an idle service, without our own code."""
        site, service = self._site, self._site.world.service
        site.world.clock.set(self._end)
        for lease in list(queries.each_lease(service, None)):
            if lease.status != LeaseStatus.TERMINATED:
                site.expect(site.ask(ADMIN, "DELETE", f"/leases/{lease.id}"), 204)
        self.report.fillers.end()
        self._manager.end_fillers()
        while (moment := self._manager.next_due()) is not None and moment < self._end + DAY:
            site.world.clock.set(moment)
            self._manager.run_due()
        open_all(service.cloud)
        tables = read_tables(site.world.engine)
        left = [*database_problems(tables, site.now(), leads=(timedelta(0), LEAD)), *cloud_problems(tables)]
        self.report.findings += (f"at the end: {each}" for each in left)

    def _count(self, moment: datetime) -> None:
        if self._by_hand is not None:
            self._by_hand.until(moment)

    def _repeat(self, pause: timedelta, work: Callable[[], object]) -> None:
        """Do it after each pause, from the first one on."""

        def again() -> None:
            self._site.agenda.at(self._site.now() + pause, again)
            work()

        self._site.agenda.at(self._begun + pause, again)

    def _vary_deletions(self) -> None:
        """Let the cloud take another time to delete a server."""
        self._site.world.cloud.servers.take_to("delete", self._rng.uniform(0, SLOWEST_DELETION.total_seconds()))

    def _purge(self) -> None:
        """Do what operators do every day."""
        purge(self._site.world.engine, self._site.now(), KEPT, dry_run=False)

    def _read_news(self) -> None:
        """Count the events of the log, as whoever follows it."""
        sequence_events(self._site.world.service)
        while True:
            path = f"/events?all_projects=true&limit=1000&after={self._cursor}"
            page = self._site.expect(self._site.ask(ADMIN, "GET", path), 200).json
            self.report.news.update(each["type"] for each in page["events"])
            self._cursor = page["next"]
            if len(page["events"]) < 1000:
                break

    def _audit(self) -> None:
        """Audit the database and the cloud."""
        service = self._site.world.service
        self.report.audits += 1
        with service.db.reading() as connection:
            found = audit_database(connection, self._site.now())
        found += audit_cloud(service, AT_ONCE)
        self.report.findings += (f"audit at {self._site.now():%m-%d %H:%M}: {each.kind}: {each.what}" for each in found)
