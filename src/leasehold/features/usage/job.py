"""The jobs of usage: one manager at a time follows the event log, one asks the cloud what is used; all have gauges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.usage.follow import follow
from leasehold.features.usage.metrics import UsageGauges
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import poll
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service

FOLLOW_LOCK = "usage-follow"
POLL_LOCK = "usage-poll"


def jobs(service: Service) -> Sequence[Job]:
    """Follow every `[usage] follow_seconds`, and poll every `[usage] poll_seconds`; 0 leaves one out.

    Each manager has the gauges of usage, unless both are left out.
    """
    settings = service.settings.of(UsageSettings)
    wanted = (
        ("usage", settings.follow_seconds, follow, FOLLOW_LOCK),
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
