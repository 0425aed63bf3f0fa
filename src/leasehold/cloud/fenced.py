"""A cloud that checks before every call whether the caller may still make it.

A worker that paused for longer than its claim lasts must not continue: another worker has taken over the task since,
and a later task may already have reversed it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import Cloud

if TYPE_CHECKING:
    from collections.abc import Callable


def fenced(cloud: Cloud, check: Callable[[], None]) -> Cloud:
    """Return the cloud with `check` called before every call; an exception from `check` prevents the call."""
    ports: dict[str, Any] = {field.name: getattr(cloud, field.name) for field in fields(Cloud)}
    return Cloud(**{name: port and _Fenced(port, check) for name, port in ports.items()})


class _Fenced:
    """A port that runs `check` before each of its verbs."""

    def __init__(self, port: object, check: Callable[[], None]) -> None:
        self._port = port
        self._check = check

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._check()
            return method(*args, **kwargs)

        return call
