"""Requests that come while another one is decided, so that they are decided together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leasehold.leasing.deciding.queue import Queues
from leasehold.model.caller import Caller
from leasehold.model.lease import Lease
from tests.factory import World, hosts
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = Caller("gate", "gate")
"""Whose request is decided while the others come."""


@dataclass
class Gate:
    """A filter that keeps the first decision from going on until the others wait."""

    limits: bool = True
    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def check_create(self, lease: Lease, _deciding: object) -> None:
        if lease.project_id == FIRST.project_id and not self.reached.is_set():
            self.reached.set()
            assert self.opened.wait(60)

    def check_update(self, *_: object) -> None:
        """Check nothing."""


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error


def together(world: World, *works: Callable[[World], Any], hour: float = 900) -> list[Any]:
    """Do all of this while a first request, for that hour, is decided; return what each returned or raised."""
    gate = Gate()
    enforcement = replace(world.service.enforcement, filters=[gate, *world.service.enforcement.filters])
    queues = Queues()
    gated = replace(world, service=replace(world.service, enforcement=enforcement, queues=queues))
    with ThreadPoolExecutor(len(works) + 1) as threads:
        first = threads.submit(outcome, lambda: gated.lease(hosts(), start=hour, end=hour + 1, caller=FIRST))
        assert gate.reached.wait(60)
        asked = []
        try:
            for number, work in enumerate(works, 1):
                asked.append(threads.submit(outcome, lambda work=work: work(gated)))  # type: ignore[misc]
                wait_for(lambda number=number: queues.waiting == number or asked[-1].done())  # type: ignore[misc]
                assert queues.waiting == number, f"Request {number} does not wait: {asked[-1].result()!r}"
        finally:
            gate.opened.set()
        assert isinstance(first.result(), Lease)
        return [each.result() for each in asked]
