"""What a manager does every so often beside its work: in a thread of its own, until the manager stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Event, Thread


class Lookout(ABC):
    """Looks every so many seconds, for the first time after the first of them."""

    def __init__(self, name: str, seconds: float) -> None:
        """Prepare the thread."""
        self._seconds = seconds
        self._stopping = Event()
        self._thread = Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the look under way, or break it off, and return."""
        self._stopping.set()
        self._thread.join()

    @abstractmethod
    def look(self) -> None:
        """Look once; what goes wrong is logged, and the next look comes all the same."""

    def _loop(self) -> None:
        while not self._stopping.wait(self._seconds):
            self.look()
