"""Checks that say what they found: each is a function that asserts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def said_by(check: Callable[..., None], *arguments: object) -> Iterator[str]:
    """Run a check and return what it found; a row that is missing or double makes a check fail to unpack it."""
    try:
        check(*arguments)
    except (AssertionError, ValueError) as error:
        yield str(error)
