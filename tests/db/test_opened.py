"""Objects that are set field by field are, when they are frozen, as any other of their class."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

from leasehold.db.columns.opened import new, opened


@dataclass(frozen=True, slots=True)
class Point:
    """What is opened here."""

    x: int
    y: int = 0


def test_an_opened_object_is_set_and_then_frozen() -> None:
    made: Any = new(opened(Point))
    made.x, made.y = 1, 2
    made.__class__ = Point
    assert (type(made), made, hash(made)) == (Point, Point(1, 2), hash(Point(1, 2)))
    with pytest.raises(FrozenInstanceError):
        made.x = 3
