"""Formats of availability, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict

StepsAnswer = TypedDict("StepsAnswer", {"from": list[str], "free": list[int], "reserved": list[int]})
StepsAnswer.__doc__ = """A step function in columns of equal length: each step lasts from its `from` to the next one's.

`reserved` is what leases and maintenance windows have, with the cleaning time around them.
"""

AvailabilityAnswer = TypedDict(
    "AvailabilityAnswer",
    {
        "resource_type": str,
        "unit": str,
        "from": str,
        "to": str,
        "total": int,
        "held_back": int,
        "throughout": int | None,
        "steps": StepsAnswer,
    },
)
AvailabilityAnswer.__doc__ = """How many units are free in a window; `total` is the sum of the others at each step.

`held_back` is on resources that nobody gets now, such as failed and disabled ones. `throughout` is the largest amount
that a lease of the whole window would get; null if that takes too long to say.
"""


class OneAvailability(TypedDict):
    """The answer about availability."""

    availability: AvailabilityAnswer
