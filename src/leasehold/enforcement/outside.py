"""What another service says about projects: it is read before a decision and used in it, so no transaction waits."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from leasehold.cloud.ports import CloudError
from leasehold.model.errors import NotKnownNowError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

LOG = logging.getLogger(__name__)

Said = TypeVar("Said")
PAUSE: Final = 5.0
"""Seconds after a failure for which the service is not asked again about the project: each try may take long."""


class OnFailure(StrEnum):
    """What holds while the other service does not answer, after what it has said is too old."""

    REFUSE = "refuse"
    LAST_KNOWN = "last_known"


@dataclass(frozen=True, slots=True)
class _Seen(Generic[Said]):
    """What was said, None for nothing yet: until when it may be used, and when to ask again."""

    said: Said | None = None
    until: float = -inf
    due: float = -inf


class Outside(Generic[Said]):
    """What a service says about projects, used for `longest` at most; threads may share it.

    `what` is that for people. `read` asks the service about a project and raises CloudError. It is asked again after
    half of the time, so that what a decision begins with is still good when it is used.
    """

    def __init__(
        self,
        what: str,
        read: Callable[[str], Said],
        longest: timedelta,
        on_failure: OnFailure,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._what, self._read, self._clock = what, read, clock
        self._seconds = longest.total_seconds()
        self._keeps = on_failure is OnFailure.LAST_KNOWN
        self._seen: dict[str, _Seen[Said]] = {}

    def due(self, project_id: str) -> bool:
        """Return whether the service has to be asked about a project before it is decided about."""
        seen = self._seen.get(project_id)
        return seen is None or seen.due <= self._clock()

    def look(self, project_id: str) -> None:
        """Ask the service, outside of any transaction; a failure is logged, and the decision says what follows."""
        before, began = self._seen.get(project_id), self._clock()
        try:
            said = self._read(project_id)
        except CloudError as error:
            LOG.warning("%s %s cannot be read: %s", self._what, project_id, error)
            seen: _Seen[Said] = before or _Seen()
            now = self._clock()
            until = now + self._seconds if self._keeps and seen.said is not None else seen.until
            # Another thread may have had an answer meanwhile.
            if self._seen.get(project_id) is before:
                self._seen[project_id] = _Seen(seen.said, until, now + min(PAUSE, self._seconds / 2))
        else:
            self._seen[project_id] = _Seen(said, began + self._seconds, began + self._seconds / 2)

    def of(self, project_id: str) -> Said:
        """Return what is known of a project; raises NotKnownNowError where that is nothing, or too old."""
        seen = self._seen.get(project_id)
        if seen is None or seen.said is None or seen.until < self._clock():
            raise NotKnownNowError(self._what)
        return seen.said
