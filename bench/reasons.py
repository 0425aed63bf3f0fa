"""Reasons of missed budgets: a sentence or two for each row that ever missed its budget, shown when it does again."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.row import Row

NONE_YET: Final = "No reason is known yet; add one to `bench/reasons.py`."
REASONS: Final[Mapping[str, str]] = {
    "calendar, *: decision, instances, p99": (
        "The p99 is a request for thousands of slots over weeks: it sweeps every shared allocation in the window, "
        "exactly, so its time grows with their number. The usual request (p50) is far within the budget."
    ),
    "calendar, *: earliest, instances, p99": (
        "As for the decision: the widest requests sweep every shared allocation of several weeks. The usual request "
        "(p50) is far within the budget."
    ),
    "leases amended, 1 API process, 64 clients, *, processor time of the API for each": (
        "An amendment reads its lease first, because who may change it depends on whose it is: 0.2 ms, shared by those "
        "that come together. Then it reads what the lease has, and takes it out of the calendar before it decides."
    ),
    "leases refused, 1 API process, 64 clients, *, processor time of the API for each": (
        "0.6 ms are the counter-offer: the search for another window, and the decisions that check what is offered. "
        "The rest is what any request takes."
    ),
    "list 1,000 leases, all of which have changed, MariaDB, p50": (
        "Four statements, 5,000 rows, 1.5 MB of JSON; Python takes the time, spread evenly over the driver (PyMySQL "
        "decodes rows in Python), the row objects, the dates and the JSON. Of what has not changed nothing is read."
    ),
}
"""By the row's name, with `*` as a wildcard."""
OF_OTHER_PAGES: Final[Mapping[str, str]] = {
    "month-filled: hosts promised, not used, on average": (
        "A filler has no host that a lease has, and these are in leases that have started: their owners are done, or "
        "never came. `month-lent` shows what is left when those who are done lend the rest."
    ),
    "month-lent: hosts promised, not used, on average": (
        "Leases whose servers may outlive them, or that are released if nobody uses them, cannot be lent; one owner in "
        "five does not lend, and nobody does for less than half an hour."
    ),
    "month-[fl]*: of the host hours that stay idle, those that are on": (
        "With fillers little more than the spares is idle, and these stay on."
    ),
}
"""The same for pages of one benchmark, whose rows are not in a run of everything."""


def reason(row: Row) -> str:
    """Return why the row's budget is missed."""
    known = {**REASONS, **OF_OTHER_PAGES}
    return next((text for name, text in known.items() if fnmatchcase(row.name, name)), NONE_YET)


def stale(rows: Iterable[Row]) -> list[str]:
    """Return the names in REASONS that match no row; after a run of everything there should be none."""
    names = [row.name for row in rows]
    return [pattern for pattern in REASONS if not any(fnmatchcase(name, pattern) for name in names)]
