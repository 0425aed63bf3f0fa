"""The surveyor: reads again what the enrolled resources have, a few at each health check (feature J2).

What is less than before is believed when it is still so after the grace period: a cloud in trouble says little.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources
from leasehold.leasing.resources.survey import differences, is_less, record_survey
from leasehold.model.resource import Health
from leasehold.resource_types.capabilities import Exclusive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Surveyed
    from leasehold.resource_types.enrolment import Discovery
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)


@dataclass
class Surveyor:
    """Reads every resource once in `reread_seconds`; `doubted` says of those that have less what, and since when."""

    service: Service
    doubted: dict[int, tuple[Mapping[str, Any], datetime]] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)

    def survey(self) -> bool:
        """Read the resources whose turn it is, and those in doubt; say whether any has changed.

        A failure for one type stops no other.
        """
        if not self.service.settings.manager.reread_seconds:
            return False
        changed = False
        for type_, driver in self.service.types.surveyed():
            if type_.name in self.service.settings.manager.unpolled:
                continue
            with self.service.db.reading() as connection:
                resources = [each for each in list_resources(connection, type_.name) if _answers(each)]
            changed |= self._survey_type(type_, driver, self._in_turn(type_.name, resources))
        return changed

    def _in_turn(self, name: str, resources: Sequence[Resource]) -> Sequence[Resource]:
        """Return the resources after the last one that was read, as many as a check has to, and those in doubt."""
        settings, last = self.service.settings.manager, self._last.get(name, 0)
        many = ceil(len(resources) * min(1.0, settings.health_seconds / settings.reread_seconds))
        ring = [each for each in resources if each.number > last] + [each for each in resources if each.number <= last]
        turn = ring[:many]
        if turn:
            self._last[name] = turn[-1].number
        return turn + [each for each in ring[many:] if each.number in self.doubted]

    def _survey_type(self, type_: ResourceType, driver: Surveyed, resources: Sequence[Resource]) -> bool:
        if not resources:
            return False
        try:
            found = driver.discovered(self.service.cloud, self.service.settings.cloud, resources)
            believed = {each.number: found[each.number] for each in resources if self._believes(type_, each, found)}
            if believed:
                record_survey(self.service, type_, believed)
            return bool(believed)
        except CloudError as error:
            log.warning("The cloud does not say what its %s have: %s", type_.kind.noun, error)
        except Exception:
            log.exception("A bug in %s: what its resources have is not known, and stays as it was", type_.name)
        return False

    def _believes(self, type_: ResourceType, resource: Resource, found: Mapping[int, Discovery]) -> bool:
        """Say whether to record what was found: it is new, and it is not less, or was the same for the grace period."""
        number, news = resource.number, None
        if number in found and not _is_another(type_, resource, found[number]):
            news = differences(resource, found[number])
        if not news:
            self.doubted.pop(number, None)
            return False
        if not is_less(resource, found[number]):
            return True
        now, (before, since) = self.service.now(), self.doubted.get(number, ({}, None))
        if since is None or before != news:
            self.doubted[number] = news, now
            return False
        return now - since >= self.service.settings.manager.failure_grace


def _answers(resource: Resource) -> bool:
    return resource.health in (Health.HEALTHY, Health.DISABLED)


def _is_another(type_: ResourceType, resource: Resource, found: Discovery) -> bool:
    """Say whether the thing has moved to another id or service: it has to be enrolled anew, which the audit tells."""
    driver = type_.driver
    shared = driver.shared if isinstance(driver, Exclusive) else None
    moved = shared is not None and found.attributes.get(shared) != resource.attributes.get(shared)
    return moved or found.id != resource.id
