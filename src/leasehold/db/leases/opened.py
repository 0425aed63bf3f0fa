"""Frozen objects that are made of rows by the ten thousands.

The `__init__` of a frozen dataclass calls a function for each field, which takes more time than the driver does.
"""

from __future__ import annotations

from typing import Any


def opened(cls: type) -> type[Any]:
    """Return a class with the fields of a frozen dataclass with slots, which are set one by one.

    `made = new(opened(cls))`, where `new` is `object.__new__`, has no values at all, not even defaults. When all fields
    are set, `made.__class__ = cls` freezes it: from then on it is as any other instance of the class.
    """
    # Both methods: Python sets attributes of a class the quick way only if neither is overridden.
    plain = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"Opened{cls.__name__}", (cls,), plain)
