"""Amounts in bodies: decimals as text, with six decimals at most."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from leasehold.features.price.budget import MICRO

MOST: Final = 10**12
_PATTERN: Final = r"[0-9]{1,13}(\.[0-9]{1,6})?$"


def _read(text: str) -> Decimal | None:
    """Return an amount; None if it is none, or too large or too precise."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    return value if value.is_finite() and abs(value) <= MOST and value == round(value, MICRO) else None


def _amount(text: str) -> str:
    value = _read(text)
    if value is None or value < 0:
        message = f'{text[:40]!r} is no amount; write one such as "1500.00", up to {MOST} and with six decimals at most'
        raise ValueError(message)
    return text


def _difference(text: str) -> str:
    if not _read(text):
        message = f'{text[:40]!r} is no difference; write one such as "-1.50", with six decimals at most, and not 0'
        raise ValueError(message)
    return text


Amount = Annotated[
    str,
    Field(max_length=40),
    AfterValidator(_amount),
    WithJsonSchema({"type": "string", "pattern": f"^{_PATTERN}"}),
]
Difference = Annotated[
    str,
    Field(max_length=40),
    AfterValidator(_difference),
    WithJsonSchema({"type": "string", "pattern": f"^-?{_PATTERN}"}),
]
