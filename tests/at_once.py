"""Requests, or steps of leases, that come while another one is written, so that they are done together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from leasehold.db.engine import reader_of
from leasehold.leasing.deciding.queue import Queues
from leasehold.model.caller import Caller
from leasehold.model.lease import Lease
from tests.factory import World, hosts
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

FIRST = Caller("gate", "gate")
"""Whose request is decided while the others come."""


@contextmanager
def first_commit_held(engine: Engine, *, writes: bool = True) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Keep the first transaction that writes, or reads, from its end; yield what says that it is there, and a release.

    Both are events; who sets the second lets the transaction go.
    """
    reached, opened = threading.Event(), threading.Event()
    engine = engine if writes else reader_of(engine)

    def hold(connection: Connection) -> None:
        writing = bool(connection.get_execution_options().get("leasehold_writes"))
        if writing is writes and not reached.is_set():
            reached.set()
            assert opened.wait(60)

    event.listen(engine, "commit", hold)
    try:
        yield reached, opened
    finally:
        opened.set()
        event.remove(engine, "commit", hold)


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error


def together(
    world: World, *works: Callable[[World], Any], hour: float = 900, queues: Queues | None = None
) -> list[Any]:
    """Do all of this while a first request, for that hour, is decided; return what each returned or raised."""
    first, *others = all_behind(
        world, lambda gated: gated.lease(hosts(), start=hour, end=hour + 1, caller=FIRST), *works, queues=queues
    )
    assert isinstance(first, Lease)
    return others


def all_behind(
    world: World,
    first: Callable[[World], Any],
    *works: Callable[[World], Any],
    writes: bool = True,
    queues: Queues | None = None,
) -> list[Any]:
    """Do all of this while the first writes, or reads; return what each returned or raised, the first too."""
    queues = queues or Queues()
    own = replace(world, service=replace(world.service, queues=queues))
    with (
        first_commit_held(world.engine, writes=writes) as (reached, opened),
        ThreadPoolExecutor(len(works) + 1) as threads,
    ):
        asked = [threads.submit(outcome, lambda: first(own))]
        assert reached.wait(60)
        try:
            for number, work in enumerate(works, 1):
                asked.append(threads.submit(outcome, lambda work=work: work(own)))  # type: ignore[misc]
                wait_for(lambda number=number: queues.waiting == number or asked[-1].done())  # type: ignore[misc]
                assert queues.waiting == number, f"The work {number} does not wait: {asked[-1].result()!r}"
        finally:
            opened.set()
        return [each.result() for each in asked]
