"""The option of published offers."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.conf.options import count_option


@dataclass(frozen=True, slots=True)
class LendingSettings:
    """How many open published offers a project may have."""

    published_offers: int = 1000


OPTIONS = count_option(
    LendingSettings,
    "How many published offers a project may have that are neither deleted nor over; 0 means that nobody can "
    "publish one.",
)
