"""The option of calendar feeds."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How many feeds a project may have."""

    feeds: int = 100


_FEEDS = cfg.IntOpt(
    "feeds",
    default=FeedSettings().feeds,
    min=0,
    help="How many calendar feeds a project may have, at addresses that ask for no login; 0 means that nobody can make "
    "one.",
)
OPTIONS = Options("manager", [_FEEDS], FeedSettings, lambda manager: FeedSettings(manager.feeds))
