"""The option of calendar feeds."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.conf.options import count_option


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How many feeds a project may have."""

    feeds: int = 100


OPTIONS = count_option(
    FeedSettings,
    "How many calendar feeds a project may have, at addresses that ask for no login; 0 means that nobody can make one.",
)
