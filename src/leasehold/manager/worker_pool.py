"""The threads that run claimed work; stopping returns what is queued and lets what runs finish.

The threads are daemons, unlike those of `concurrent.futures`: a cloud that never answers must not keep the process from
exiting after its shutdown time.
"""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Claim = TypeVar("Claim", bound="Hashable")
"""What a thread works on: a claimed task, or a claimed subscription."""


class WorkerPool(Generic[Claim]):
    """A fixed number of threads that run claimed tasks in FIFO order."""

    def __init__(
        self, size: int, work: Callable[[Claim], None], finished: Callable[[], None], name: str = "worker"
    ) -> None:
        """Prepare the threads; `finished` is called after each task. Neither `work` nor `finished` may raise."""
        self._work = work
        self._finished = finished
        self._changed = Condition()
        self._queue: deque[Claim] = deque()
        # By claim, not by task: a finished task may be claimed again before its first claim is removed here.
        self._running: set[Claim] = set()
        self._closed = False
        self._threads = [Thread(target=self._loop, name=f"{name}-{number}", daemon=True) for number in range(size)]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def add(self, claims: Sequence[Claim]) -> None:
        """Queue the claimed tasks."""
        with self._changed:
            self._queue.extend(claims)
            self._changed.notify(len(claims))

    def claims(self) -> list[Claim]:
        """Return the claims of queued and running tasks."""
        with self._changed:
            return [*self._queue, *self._running]

    def close(self) -> list[Claim]:
        """Begin no more tasks, and return the claims of those not begun."""
        with self._changed:
            self._closed = True
            never_begun = list(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        return never_begun

    def wait(self, seconds: float) -> list[Claim]:
        """After `close`, wait up to `seconds` for the running tasks, and return the claims of those still running."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running, timeout=seconds)
            return list(self._running)

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if not self._queue:
                    return
                claim = self._queue.popleft()
                self._running.add(claim)
            try:
                self._work(claim)
            finally:
                with self._changed:
                    self._running.remove(claim)
                    if self._closed:
                        self._changed.notify_all()
                self._finished()
