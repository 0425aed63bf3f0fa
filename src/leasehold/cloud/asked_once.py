"""A cloud for the calls of one request: it caches look-ups, and refuses calls after the request's deadline."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from leasehold.cloud.deadline import deadline, time_left
from leasehold.cloud.ports import Cloud, CloudTransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Around = Callable[[], AbstractContextManager[None]]

LOOK_UPS = frozenset({"find", "get"})
"""The verbs whose answers are cached for the whole request."""


@contextmanager
def asked_once(
    cloud: Cloud, seconds: float, clock: Callable[[], float] | None = None, *, around: Around = nullcontext
) -> Iterator[Cloud]:
    """Yield the cloud for one request; all its calls together may take `seconds`.

    After that deadline a call raises CloudTransientError at once; a call under way at the deadline is aborted.
    Each call runs inside `around()`, which may raise CloudTransientError to prevent it.
    """
    ports: dict[str, Any] = {field.name: getattr(cloud, field.name) for field in fields(Cloud)}
    with deadline(seconds, clock) if clock else deadline(seconds):
        yield Cloud(**{name: port and _Once(name, port, around) for name, port in ports.items()})


class _Once:
    """A port that caches the answers of its look-ups."""

    def __init__(self, name: str, port: object, around: Around) -> None:
        self._name = name
        self._port = port
        self._around = around
        self._known: dict[tuple[Any, ...], Any] = {}

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._port, verb)

        def call(*args: Any, **kwargs: Any) -> Any:
            # The arguments of other verbs need not be hashable.
            key = (verb, args, tuple(sorted(kwargs.items()))) if verb in LOOK_UPS else None
            if key is not None and key in self._known:
                return self._known[key]
            if time_left() == 0.0:
                message = f"{self._name}.{verb}: the request's time for calls to the cloud is over"
                raise CloudTransientError(message)
            with self._around():
                answer = method(*args, **kwargs)
            if key is not None:
                self._known[key] = answer
            return answer

        return call
