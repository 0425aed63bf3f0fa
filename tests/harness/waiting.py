"""Makes requests wait for the pool of the hosts in an API process, so that they are decided together.

    with pool_held(url) as release:
        asked = [threads.submit(...) for ...]
        wait_for_requests(api, len(asked))
        release()

Another connection holds the pool, so the first request waits in the database, and those that join wait for it in the
process. The stacks of the process's threads show that all of them do.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from leasehold.db.engine import open_engine, writing
from leasehold.db.pool import lock_pools
from leasehold.model.resource import HOST_POOL
from tests.harness.evidence import tell_stacks
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.harness.programs import Program

WAITS = re.compile(rb'/leasing/deciding/queue\.py", line \d+ in decide|/db/store\.py", line \d+ in _once')
"""What the stack of a request has that waits: in the queue of its pools, or in its transaction."""
REQUEST = b"/api/pipeline.py"
THREAD = b"\nThread 0x"


@contextmanager
def pool_held(url: str) -> Iterator[Callable[[], None]]:
    """Hold the pool of the hosts, on SQLite all of the database, until what this yields is called, or to the end."""
    engine = open_engine(url)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        lock_pools(stack.enter_context(writing(engine)), [HOST_POOL])
        yield stack.close


def wait_for_requests(api: Program, count: int) -> None:
    """Wait until so many requests of an API process wait."""

    def waiting() -> int:
        stacks = tell_stacks(api).split(THREAD)
        return sum(REQUEST in each and WAITS.search(each) is not None for each in stacks)

    wait_for(lambda: waiting() == count)
