"""The database of a process: its pools of connections, how much of them is used, and whether its clock is followed."""

from __future__ import annotations

from prometheus_client import Gauge

# Of several processes that answer for each other, the one that set it last: the value of a dead one does not stay.
USED = Gauge(
    "leasehold_database_connections_used",
    "Database connections that are used now, by pool: `writes` or `reads`. SQLite has one pool for both, `writes`.",
    ["pool"],
    multiprocess_mode="mostrecent",
)
LIMIT = Gauge(
    "leasehold_database_connections_limit",
    "Database connections that the pool may open.",
    ["pool"],
    multiprocess_mode="mostrecent",
)
HELD = Gauge(
    "leasehold_clock_held",
    "1 while this process ignores a jump of the database's clock and counts on from before, else 0.",
    multiprocess_mode="mostrecent",
)
WRITES, READS = "writes", "reads"


def set_limit(pool: str, limit: int) -> None:
    """Note how many connections a pool may open; `pool` is WRITES or READS."""
    LIMIT.labels(pool).set(limit)


def set_used(pool: str, used: int) -> None:
    """Note how many connections of a pool are used."""
    USED.labels(pool).set(used)


def clock_held(*, held: bool) -> None:
    """Note whether this process ignores a jump of the database's clock."""
    HELD.set(int(held))
