"""What a manager does in each round: it tells which hosts of fillers have to go, and goes on with what is under way."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources, resources_by_number
from leasehold.db.resources.use import Use, use_of
from leasehold.features.filler import store as rows
from leasehold.features.filler.metrics import TOLD, show_hosts
from leasehold.features.filler.model import LATER, MARK, Stage, Standing
from leasehold.features.filler.options import FillerSettings
from leasehold.features.filler.step import Step
from leasehold.features.filler.use import adopt, expect, tell, tell_guarantee
from leasehold.leasing.waiting.wanted import wanted_by_waiting
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.features.filler.model import FilledHost
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

KEPT: Final = timedelta(days=30)
"""For how long fillers that have ended can be seen."""
OFTEN: Final = timedelta(hours=1)
AT_ONCE: Final = 10
"""Hosts at work at the same time."""


def standings(service: Service, connection: Connection, hosts: Sequence[FilledHost]) -> list[Standing]:
    """Return hosts that fillers have, each with what decides when it has to go."""
    numbers = {each.resource_number for each in hosts}
    if not numbers:
        return []
    resources, now = resources_by_number(connection, numbers), service.now()
    uses = use_of(connection, numbers, now)
    fillers = rows.fillers_by_id(connection, {each.filler_id for each in hosts})
    settings = service.settings.of(FillerSettings)
    return [
        Standing(
            each,
            fillers[each.filler_id],
            resources[each.resource_number],
            uses.get(each.resource_number, Use()),
            service.margins.of(resources[each.resource_number].pool),
            settings.of(resources[each.resource_number]),
        )
        for each in hosts
    ]


@dataclass(slots=True)
class Rounds:
    """The rounds of one manager; `tidied_at` is when it last looked for what ended long ago, and what is not known."""

    service: Service
    tidied_at: datetime | None = None

    def run(self, _stopping: Event | None = None) -> None:
        """Do one round."""
        self._tidy(self.service.now())
        found = self._look()
        if found:
            self._tell(found)
            found = self._look()
        show_hosts(each.host.stage(self.service.now()) for each in found)
        self._go_on(found)

    def _tidy(self, now: datetime) -> None:
        if self.tidied_at is None or now - self.tidied_at >= OFTEN:
            self.tidied_at = now
            self.service.db.transact(partial(rows.forget_fillers, before=now - KEPT))
            try:
                self._adopt()
            except CloudError as error:
                log.warning("Whether there are fillers that the database does not know is not known: %s", error)

    def _adopt(self) -> None:
        """Take up what the cloud has of fillers and the database, which went back, does not know."""
        marked = [each for each in self.service.cloud.aggregates.list() if MARK in each.metadata and each.hosts]
        if not marked:
            return
        with self.service.db.reading() as connection:
            enrolled = {each.attributes["service_name"]: each for each in list_resources(connection, HOST)}
            known = rows.owners(connection, [each.name for each in marked])
        key = self.service.settings.cloud.owner_key
        for aggregate in marked:
            for host in sorted(aggregate.hosts & enrolled.keys() if aggregate.name not in known else ()):
                owner = aggregate.metadata.get(key, "")
                if adopt(self.service, enrolled[host], aggregate.name, aggregate.metadata[MARK], owner):
                    log.warning("%s has a filler that the database did not know.", host)

    def _look(self) -> list[Standing]:
        with self.service.db.reading() as connection:
            return standings(self.service, connection, rows.present_hosts(connection))

    def _tell(self, found: Sequence[Standing]) -> None:
        """Tell which hosts have to go, and which are guaranteed for another time than was said."""
        service, now = self.service, self.service.now()
        wanted = wanted_by_waiting(service, {each.resource.pool for each in found})
        for each in found:
            leave = each.leave(now, wanted=each.resource.number in wanted)
            if leave is not None:
                if tell(service, each.resource, each.host, leave):
                    TOLD.inc()
                    log.info("%s leaves filler %s at %s.", each.resource.label, each.filler.id, leave.at)
            elif each.host.told_at is None:
                self._keep(each, now)

    def _keep(self, each: Standing, now: datetime) -> None:
        """Note until when a host is guaranteed that stays, and how long it takes to be ready as configured now."""
        readiness, takes = each.resource.readiness, each.settings.takes
        if readiness is None or readiness.takes != takes:
            expect(self.service, each.resource, each.host, takes)
        until, told = each.guaranteed_until(now), each.host.told_until
        if until is not None and (told is None or until < told - LATER):
            tell_guarantee(self.service, each.host, until, shorter=told is not None or each.host.arrived_at is not None)
        elif told is not None and (until is None or until > told + LATER):
            tell_guarantee(self.service, each.host, until, shorter=False)

    def _go_on(self, found: Sequence[Standing]) -> None:
        now = self.service.now()
        due = [each for each in found if each.host.stage(now) in (Stage.COMING, Stage.ENDING, Stage.OVERDUE)]
        steps = [Step(self.service, each) for each in due]
        if len(steps) == 1:
            steps[0].attempt()
        elif steps:
            with ThreadPoolExecutor(min(AT_ONCE, len(steps))) as pool:
                list(pool.map(Step.attempt, steps))
