"""Listens to the notifications that the drivers of resource types name (feature J1, decision 0050).

A notification is only a reason to look: what is recorded is what the cloud answers. So one that is forged, stale or
lost in parts cannot do more than a look does, and each is acknowledged, whatever it says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from leasehold.resource_types.capabilities import Notified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.bridge.transport import Bus
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

AGAIN_SECONDS = 5.0
"""Pause before another try to listen, when the bus refuses the queue."""
_BUG = (
    "A bug in %s: it cannot say whether the notification %.100r concerns it. Each such notification makes the bridge "
    "look at its resources; this is logged once"
)

Tell = Callable[[Collection[str]], None]


class Endpoint:
    """Takes notifications of the priorities that Blazar takes; oslo.messaging calls the method of the priority."""

    def __init__(self, types: Collection[ResourceType], tell: Tell) -> None:
        """`tell` is called with the names of the types that a notification concerns; it must return at once."""
        self._types = types
        self._tell = tell
        self._buggy: set[str] = set()

    def info(self, _context: Any, _publisher: Any, event_type: Any, payload: Any, _metadata: Any) -> None:
        """Tell which types the notification concerns, if any."""
        if not isinstance(event_type, str):
            return
        content = payload if isinstance(payload, dict) else {}
        concerned = frozenset(each.name for each in self._types if self._concerns(each, event_type, content))
        if concerned:
            self._tell(concerned)

    warn = info
    error = info

    def _concerns(self, type_: ResourceType, event_type: str, payload: Mapping[str, Any]) -> bool:
        """Ask the driver; where it raises, look: a look does no harm, and news that is missed may cost a lease."""
        try:
            return isinstance(type_.driver, Notified) and type_.driver.concerns(event_type, payload)
        except Exception:
            # There may be hundreds of notifications in a second, and each may raise.
            if type_.name not in self._buggy:
                self._buggy.add(type_.name)
                log.exception(_BUG, type_.name, event_type)
            return True


class Listener:
    """Takes notifications from the bus, in threads of oslo.messaging."""

    def __init__(self, bus: Bus, topics: Sequence[str], types: Collection[ResourceType], tell: Tell) -> None:
        """Prepare to listen for these types; nothing connects yet."""
        self._bus = bus
        self._topics = topics
        self._endpoint = Endpoint(types, tell)
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
                log.warning("Notifications cannot be read, and it is tried again: %s", error)
                self._stopping.wait(AGAIN_SECONDS)
            else:
                self._server = server
                log.info("Notifications are read from the message bus, topics: %s", ", ".join(self._topics))
                return

    def _close(self) -> None:
        self._thread.join()
        if self._server is not None:
            self._server.stop()
            self._server.wait()
