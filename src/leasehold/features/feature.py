"""A feature: all that a package of `leasehold.features` adds to the service, which knows none of them by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Engine

    from leasehold.api.call import Addition
    from leasehold.api.lease_field import LeaseField
    from leasehold.api.mount import MakeMount
    from leasehold.api.route import Route
    from leasehold.cloud.ports import Cloud
    from leasehold.conf.options import Options
    from leasehold.conf.settings import Settings
    from leasehold.db.store import Database
    from leasehold.enforcement.base import Added
    from leasehold.leasing.deciding.clause import Clause
    from leasehold.leasing.deciding.source import Source
    from leasehold.leasing.fit import Estimator
    from leasehold.leasing.record import Record
    from leasehold.leasing.service import MakeWay, Owns, Service, Words
    from leasehold.leasing.stay import Stays
    from leasehold.leasing.turn import Job
    from leasehold.manager.periodic_thread import PeriodicThread
    from leasehold.model.delay import Listener

    MakeService = Callable[[Namespace, Engine], Service]
    """Returns the service that the arguments of an operator's command configure, on a database that is open."""


def _none(_settings: Settings) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Intakes:
    """Bodies that are read although their requests have none of the API's credentials.

    They are those of the `paths`, up to `most` bytes, and those below `by_cookie` whose requests have a cookie.
    """

    paths: frozenset[str]
    most: int
    by_cookie: str


@dataclass(frozen=True, slots=True)
class Feature:
    """The package `leasehold.features.NAME`, with its options; people read its `title`.

    With `api` it has a module `api` with `ROUTES`, and if it `fills` bodies with `ADDITIONS`; with `job` a module
    `job`, whose `jobs` makes what managers do for it; with `tables` a module `store` that has them; with `mount` a
    module `mount`, whose `mount` makes what is served beside the routes, and whose `welcome` says where; with `words` a
    module `words`, whose `read_words` is one of `Service.words`; with `sources` a module `source`, whose `SOURCES` are
    some of `Service.sources`; with `ways` a module `ways`, whose `WAYS` are some of `Service.ways`; if it `binds`
    decisions, a module `clause`, whose `make_clause` makes one of `Service.clauses`; if it `estimates` what a lease
    would get, a module `estimate`, whose `make_estimator` makes one of `Service.estimators`; if it `records` what
    became of promises, a module `record`, whose `make_record` makes one of `Service.records`; if it `lodges` projects
    on resources without a promise, the `stays` of its module `store` are some of `Service.stays`; if it `owns` what
    reservations have in the cloud, the `owners` of its module `store` are some of `Service.owns`; if it `shows` more of
    a lease, a module `shown`, whose `FIELDS` are keys of the answer about one; if it `hears`, a
    module `delays`, whose `DelayCounts` are some of `Service.listeners`; with `command` a module `command`, whose
    `add_command` adds one to `leasehold-manage`. Each is loaded only by the processes that use it: the shapes of
    requests take much memory. A process of it uses so many `connections` to the database beside those of the core.
    """

    name: str
    title: str
    options: Options[Any] | None = None
    api: bool = False
    fills: bool = False
    job: bool = False
    tables: bool = False
    mount: bool = False
    intakes: Intakes | None = None
    words: bool = False
    sources: bool = False
    hears: bool = False
    ways: bool = False
    binds: bool = False
    estimates: bool = False
    command: bool = False
    owns: bool = False
    enforces: bool = False
    shows: bool = False
    records: bool = False
    lodges: bool = False
    connections: Callable[[Settings], int] = _none

    def routes(self) -> Sequence[Route]:
        """Return its routes."""
        found: Sequence[Route] = self._module("api").ROUTES if self.api else ()
        return found

    def additions(self) -> Mapping[str, Addition]:
        """Return what adds keys to the bodies of requests, by the key that names it."""
        found: Mapping[str, Addition] = self._module("api").ADDITIONS if self.fills else {}
        return found

    def lease_fields(self) -> Sequence[LeaseField]:
        """Return the keys that it adds to the answer about one lease."""
        found: Sequence[LeaseField] = self._module("shown").FIELDS if self.shows else ()
        return found

    def jobs(self, service: Service) -> Sequence[Job | PeriodicThread]:
        """Return what managers do for it; a thread has more to do than a job, at its start or its end."""
        found: Sequence[Job | PeriodicThread] = self._module("job").jobs(service) if self.job else ()
        return found

    def mounts(self) -> Sequence[MakeMount]:
        """Return what makes what is served beside the routes."""
        return [self._module("mount").mount] if self.mount else []

    def welcome(self, settings: Settings, url: str) -> str:
        """Return what a person who starts the service at this URL is told."""
        said: str = self._module("mount").welcome(settings, url) if self.mount else ""
        return said

    def reading(self) -> Sequence[Words]:
        """Return what reads its words in a sent reservation."""
        return (self._module("words").read_words,) if self.words else ()

    def leasing_from(self) -> Sequence[Source]:
        """Return where its leases have their resources from."""
        found: Sequence[Source] = self._module("source").SOURCES if self.sources else ()
        return found

    def listeners(self, db: Database, pause: float | None) -> Sequence[Listener]:
        """Return who hears for it of requests that are delayed; they write after a `pause`, or when they are read."""
        return (self._module("delays").DelayCounts(db, pause),) if self.hears else ()

    def making_room(self) -> Sequence[MakeWay]:
        """Return how its leases make room for others."""
        found: Sequence[MakeWay] = self._module("ways").WAYS if self.ways else ()
        return found

    def clauses(self, settings: Settings) -> Sequence[Clause]:
        """Return what looks at each decision before it is written; nothing where that has nothing to do."""
        made: Clause | None = self._module("clause").make_clause(settings) if self.binds else None
        return () if made is None else (made,)

    def estimators(self, settings: Settings) -> Sequence[Estimator]:
        """Return what says more of windows in which a lease would fit; nothing where that has nothing to say."""
        made: Estimator | None = self._module("estimate").make_estimator(settings) if self.estimates else None
        return () if made is None else (made,)

    def recorded(self, settings: Settings) -> Sequence[Record]:
        """Return what it has recorded of what became of promises; nothing where it does not."""
        made: Record | None = self._module("record").make_record(settings) if self.records else None
        return () if made is None else (made,)

    def lodging(self) -> Sequence[Stays]:
        """Return what knows what projects have had without a promise."""
        return (self._module("store").stays,) if self.lodges else ()

    def owning(self) -> Sequence[Owns]:
        """Return what knows the owners of its objects in the cloud."""
        return (self._module("store").owners,) if self.owns else ()

    def enforcing(self, settings: Settings, cloud: Cloud) -> Sequence[Added]:
        """Return what it adds to enforcement, without a call yet; raises ConfigurationError."""
        found: Added | None = self._module("enforcement").added(settings, cloud) if self.enforces else None
        return () if found is None else (found,)

    def add_command(self, groups: _SubParsersAction[ArgumentParser], make_service: MakeService) -> None:
        """Add its command to the parser of `leasehold-manage`."""
        if self.command:
            self._module("command").add_command(groups, make_service)

    def load_tables(self) -> None:
        """Add its tables to `leasehold.db.tables.metadata`."""
        if self.tables:
            self._module("store")

    def _module(self, part: str) -> Any:
        return import_module(f"leasehold.features.{self.name}.{part}")
