"""The options of flexible leases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import YEAR, Options, read_fields
from leasehold.model.hours import EXAMPLE, Hours


@dataclass(frozen=True, slots=True)
class FlexibleSettings:
    """How often a flexible lease moves at most, and what is meant by nights and weekends."""

    frozen: timedelta = timedelta(hours=1)
    rest: timedelta = timedelta(hours=1)
    most_moves: int = 10
    every: timedelta = timedelta(minutes=5)
    least_gain: timedelta = timedelta(hours=1)
    nights: str = "20:00-06:00"
    weekends: str = "sat-sun 00:00-00:00"


def _read(group: Any) -> FlexibleSettings:
    for name in ("nights", "weekends"):
        text = getattr(group, name)
        try:
            Hours.read(text)
        except ValueError as error:
            raise unusable(f"[flexible] {name}: {text!r} is no time like {EXAMPLE}.") from error
    return read_fields(FlexibleSettings, group)


OPTIONS = Options(
    "flexible",
    [
        cfg.IntOpt(
            "frozen_seconds",
            min=0,
            max=YEAR,
            help="A flexible lease that does not say it is moved no more from so many seconds before its start on.",
        ),
        cfg.IntOpt("rest_seconds", min=0, max=YEAR, help="A flexible lease that was moved stays for so many seconds."),
        cfg.IntOpt("most_moves", min=0, help="How often a flexible lease is moved at most; 0: they stay as they are."),
        cfg.IntOpt(
            "every_seconds", min=1, max=3600, help="Seconds between two looks of a manager for better places for them."
        ),
        cfg.IntOpt(
            "least_gain_seconds",
            min=1,
            max=YEAR,
            help="A manager moves one only if it begins so many seconds sooner, or leaves hosts so many more to sleep.",
        ),
        cfg.StrOpt("nights", help="Which hours `nights` are, in the time zone of the request."),
        cfg.StrOpt("weekends", help="Which hours `weekends` are, in the time zone of the request."),
    ],
    FlexibleSettings,
    _read,
)
