"""Listens to Nova's notifications of compute services (feature J1, contract resources §7.1).

A notification is only a reason to look: what is recorded is what Nova answers. So one that is forged, stale or lost in
parts cannot do more than a look does, and each is acknowledged, whatever it says.
"""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.bridge.transport import Bus

log = logging.getLogger(__name__)

SERVICE_CHANGED = "service.update"
BINARY = "nova-compute"
AGAIN_SECONDS = 5.0
"""Pause before another try to listen, when the bus refuses the queue."""


class Endpoint:
    """Takes notifications of the priorities that Blazar takes; oslo.messaging calls the method of the priority."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """`tell` is called for each notification of a change of a compute service; it must return at once."""
        self._tell = tell

    def info(self, _context: Any, _publisher: Any, event_type: Any, payload: Any, _metadata: Any) -> None:
        """Tell if the notification is of a compute service."""
        if event_type == SERVICE_CHANGED and _binary(payload) in (None, BINARY):
            self._tell()

    warn = info
    error = info


def _binary(payload: Any) -> Any:
    """Return which program the service is; None if the payload does not say, as for one that is not versioned."""
    data = payload.get("nova_object.data") if isinstance(payload, dict) else None
    return data.get("binary") if isinstance(data, dict) else None


class Listener:
    """Takes notifications from the bus, in threads of oslo.messaging."""

    def __init__(self, bus: Bus, topics: Sequence[str], tell: Callable[[], None]) -> None:
        """Prepare to listen; nothing connects yet."""
        self._bus = bus
        self._topics = topics
        self._endpoint = Endpoint(tell)
        self._stopping = Event()
        self._server: Any = None
        self._thread = Thread(target=self._listen, name="listener", daemon=True)

    def start(self) -> None:
        """Connect in a thread, which goes on trying while the bus is away."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Take no more notifications; waits up to `seconds`, and leaves a connection that is not there yet."""
        self._stopping.set()
        closing = Thread(target=self._close, name="listener-end", daemon=True)
        closing.start()
        closing.join(seconds)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            server = self._bus.listener(self._topics, self._endpoint)
            try:
                # One thread is enough, because the endpoint returns at once.
                server.start(override_pool_size=1)
            except Exception as error:  # noqa: BLE001 - whatever the libraries raise: nobody listens.
                log.warning("Nova's notifications cannot be read, and it is tried again: %s", error)
                self._stopping.wait(AGAIN_SECONDS)
            else:
                self._server = server
                return

    def _close(self) -> None:
        self._thread.join()
        if self._server is not None:
            self._server.stop()
            self._server.wait()
