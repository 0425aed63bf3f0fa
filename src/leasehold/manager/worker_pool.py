"""The threads that do claimed work, and how they stop: what nobody has begun comes back, what runs may finish.

They are daemons, unlike those of `concurrent.futures`: a call to a cloud that never answers must not keep a process
from ending when its time to finish is over.
"""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.db.task import Claim


class WorkerPool:
    """A fixed number of threads that do work in the order in which it is handed to them."""

    def __init__(self, size: int, work: Callable[[Claim], None], finished: Callable[[], None]) -> None:
        """Prepare the threads; `finished` is called when one has room again. Neither call may raise."""
        self._work = work
        self._finished = finished
        self._changed = Condition()
        self._queue: deque[Claim] = deque()
        # By claim, not by task: a finished task may be claimed again before its first claim is struck off here.
        self._running: set[Claim] = set()
        self._closed = False
        self._threads = [Thread(target=self._loop, name=f"worker-{number}", daemon=True) for number in range(size)]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def add(self, claims: Sequence[Claim]) -> None:
        """Hand over work."""
        with self._changed:
            self._queue.extend(claims)
            self._changed.notify(len(claims))

    def claims(self) -> list[Claim]:
        """Return what is waiting or running."""
        with self._changed:
            return [*self._queue, *self._running]

    def close(self) -> list[Claim]:
        """Begin nothing more, and return what was not begun."""
        with self._changed:
            self._closed = True
            never_begun = list(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        return never_begun

    def wait(self, seconds: float) -> list[Claim]:
        """After `close`, wait until all that was begun is finished, and return what still is not after so long."""
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
