"""The jobs of usage: one manager at a time follows the event log, sums days, and asks the cloud; all have gauges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from leasehold.features.usage.follow import follow
from leasehold.features.usage.metrics import UsageGauges
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import poll
from leasehold.features.usage.summing import sum_days
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from leasehold.leasing.service import Service

FOLLOW_LOCK = "usage-follow"
POLL_LOCK = "usage-poll"
DAYS_LOCK = "usage-days"
DAYS_SECONDS: Final = 300.0
"""Seconds between two looks whether a day is over."""


def jobs(service: Service) -> Sequence[Job]:
    """Follow every `[usage] follow_seconds`, and poll every `[usage] poll_seconds`; 0 leaves one out.

    Who follows sums days as well: without a follower no day is known in full.

    Each manager has the gauges of usage, unless both are left out.
    """
    settings = service.settings.of(UsageSettings)
    wanted = (
        ("usage", settings.follow_seconds, follow, FOLLOW_LOCK),
        ("usage days", DAYS_SECONDS if settings.follow_seconds else 0, _sum_days, DAYS_LOCK),
        ("usage poll", settings.poll_seconds, poll, POLL_LOCK),
    )
    gauges = UsageGauges(service)
    recording = [
        Job(name, every, partial(run, service), Turn.of_one_round(service, lock, every))
        for name, every, run, lock in wanted
        if every
    ]
    showing = [Job("usage gauges", gauges.every, lambda _: gauges.run())] if recording else []
    return [*recording, *showing]


def _sum_days(service: Service, stopping: Event) -> None:
    sum_days(service.db, service.now(), stopping)
