"""Lets each system decide the same changes one after the other, and has brute force judge every answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from bench.peers.oracle import Verdict, judge
from bench.peers.workload import Amendment, Creation, changes
from bench.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.peers.peer import Connection, Peer
    from bench.peers.workload import Change

HOSTS: Final = 8
COUNT: Final = 400
WRONG: Final = (Verdict.NOT_FREE, Verdict.FEWER, Verdict.BROKEN)


Decisions = Counter[tuple[str, Verdict]]
"""How many decisions of which kind of change got which verdict."""


def judged(peer: Peer, seed: int, begin: int, count: int) -> Decisions:
    """Have a system decide the changes; those of a reservation that it does not have are left out."""
    peer.begin(HOSTS, {})
    found: Decisions = Counter()
    with peer.connect(0) as client:
        before = peer.held()
        for change in changes(seed, count, HOSTS, begin):
            if not isinstance(change, Creation) and change.name not in before:
                continue
            granted = _ask(client, change)
            after = peer.held()
            found[type(change).__name__.lower(), judge(change, before, after, HOSTS, granted=granted)] += 1
            before = after
    return found


def _ask(client: Connection, change: Change) -> bool:
    if isinstance(change, Creation):
        return client.create(change.booking).value
    if isinstance(change, Amendment):
        return client.amend(change.name, change.end).value
    return client.delete(change.name).value


def rows(ours: Decisions, theirs: Decisions) -> Iterator[Row]:
    """Yield a row for each verdict that there was, by kind of change; none of ours may be one of the wrong ones."""
    for kind in ("creation", "amendment", "deletion"):
        for verdict in Verdict:
            counts = ours[kind, verdict], theirs[kind, verdict]
            if any(counts) or verdict is Verdict.BROKEN:
                budget = 0.0 if verdict in WRONG else None
                name = f"{kind}: {verdict.value}"
                yield Row(name, counts[0], "", budget, counts[1], "Slurm's", exact=budget is not None)
