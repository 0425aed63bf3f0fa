"""The forecast: how many resources will be asked for, and how many are missing then (feature G10, decision 0109).

All numbers are whole resources, and each is the largest of its step. What is known of a step is what the book promises
and what waiting leases ask for. What is expected is the whole demand of that time, by the same hours of past weeks, so
only what goes beyond the known is additional.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from leasehold.db.leases.lease import find_leases
from leasehold.db.waiting import waiting_for
from leasehold.features.forecast.store import (
    Changes,
    TimeSteps,
    changes_in_maintenance,
    changes_in_use,
    count_in_use,
    count_usable,
    expected_in,
    missing_by_hour,
)
from leasehold.model.errors import InvalidDateError, InvalidInputError
from leasehold.model.terms.waiting import window_at
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    import numpy.typing as npt
    from sqlalchemy import Connection

    from leasehold.leasing.refusals import RefusalCounts
    from leasehold.leasing.service import Service
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.kind import Kind

    Counts = npt.NDArray[np.int64]

HOUR: Final = 3600
WEEK: Final = 168 * HOUR
LEAST_WEEKS, USUAL_WEEKS, MOST_WEEKS = 4, 8, 26
"""The weeks of history: fewer than the least are no reason to expect anything."""
MOST_STEPS: Final = 2_016
"""The steps of one answer: twelve weeks of hours."""
LONGEST: Final = timedelta(days=366)
HIGH: Final = 0.9
"""The quantile of the high expectation."""
MOST_READ: Final = 500_000
"""The rows of book and record that an answer is made of: some seconds of each database."""
MOST_WAITING: Final = 1_000
"""The waiting leases that count: those that have waited longest."""
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class ForecastQuestion:
    """A resource type and a window, in steps of `step` seconds; at most so many weeks of history."""

    resource_type: str
    start: datetime
    end: datetime
    step: int = HOUR
    weeks: int = USUAL_WEEKS


@dataclass(frozen=True, slots=True)
class Expected:
    """The demand that past weeks let one expect of each step: the median of these weeks, and their `HIGH` quantile."""

    median: Counts
    high: Counts


@dataclass(frozen=True, slots=True)
class Forecast:
    """The steps of a window: `capacity` is what can be used, `promised` and `backlog` are what is known of the demand.

    `weeks` says on how many weeks of history `expected` rests; it is None if these are too few. `uncounted` says that
    more leases wait than `backlog` counts. The capacity has so many more resources from each moment in `coming` on.
    """

    resource_type: str
    noun: str
    grid: TimeSteps
    weeks: int
    capacity: Counts
    promised: Counts
    backlog: Counts
    expected: Expected | None
    uncounted: bool = False
    coming: Sequence[tuple[datetime, int]] = ()

    @property
    def window(self) -> Window:
        """The window of all steps."""
        return Window(from_seconds(self.grid.start), from_seconds(self.grid.end))

    @property
    def known(self) -> Counts:
        """What is promised and what waits."""
        return self.promised + self.backlog

    def additional(self, expected: Counts) -> Counts:
        """Return what is expected beyond what is known."""
        more: Counts = np.maximum(expected - self.known, 0)
        return more

    def shortfall(self, expected: Counts | None = None) -> Counts:
        """Return how many more resources the demand needs: that which is known, or that which is expected if more."""
        demand = self.known if expected is None else np.maximum(self.known, expected)
        missing: Counts = np.maximum(demand - self.capacity, 0)
        return missing


def forecast(service: Service, counts: RefusalCounts, question: ForecastQuestion) -> Forecast:
    """Return the forecast of a window, in whole steps; one that has begun is looked at from now on.

    Raises InvalidInputError for the type, the step, the weeks or a window of too many steps, or where there is too much
    to read, and InvalidDateError for a window that is over.
    """
    now = service.now()
    kind = _kind(service, question.resource_type)
    ahead = _ahead(question, now)
    # One week more than asked for tells whether there was any demand before.
    current = to_seconds(now) // question.step * question.step
    weeks, in_week = question.weeks + 1, WEEK // question.step
    past = TimeSteps(current - weeks * WEEK, HOUR, weeks * WEEK // HOUR)
    types = service.types.using({kind.pool})
    counts.write()
    with service.db.reading() as connection:
        for field, words, grid in (("weeks", "fewer weeks", past), ("to", "a shorter window", ahead)):
            if count_in_use(connection, kind.pool, types, grid, MOST_READ + 1) > MOST_READ:
                message = f"The forecast would be made of more than {MOST_READ} allocations. Ask for {words}."
                raise InvalidInputError(message, field=field)
        demand = _past_demand(connection, kind, types, past)
        promised = peaks(changes_in_use(connection, kind.pool, types, ahead), ahead)
        usable = count_usable(connection, kind.pool)
        closed = peaks(changes_in_maintenance(connection, kind.pool, ahead), ahead)
        coming = sorted(Counter(expected_in(connection, kind.pool)).items())
        wanted, uncounted = _waiting(service, connection, kind, now)
    before: Counts = demand.reshape(-1, question.step // HOUR).max(axis=1)
    complete = min(question.weeks, complete_weeks(before, in_week))
    expected = None
    if complete >= LEAST_WEEKS:
        expected = expected_of(before, complete, in_week, (ahead.start - current) // question.step, ahead.steps)
    return Forecast(
        kind.name,
        kind.noun,
        ahead,
        complete,
        capacity=usable - closed - peaks_of([(ahead.start, to_seconds(at), many) for at, many in coming], ahead),
        promised=promised,
        backlog=peaks_of(wanted, ahead),
        expected=expected,
        uncounted=uncounted,
        coming=[(at, many) for at, many in coming if at < from_seconds(ahead.end)],
    )


def _past_demand(connection: Connection, kind: Kind[Any], types: Collection[str], past: TimeSteps) -> Counts:
    """Return how many resources were in use and missing in each step, which is an hour."""
    demand = peaks(changes_in_use(connection, kind.pool, types, past), past)
    for hour, missing in missing_by_hour(connection, kind.name, types, past):
        demand[(hour - past.start) // HOUR] += missing
    return demand


def _kind(service: Service, name: str) -> Kind[Any]:
    kind = service.types.offered(name).kind
    if kind.resources != kind.name:
        message = f"A forecast counts whole resources: ask for {kind.resources}, of which {kind.name} has parts."
        raise InvalidInputError(message, field="resource_type")
    return kind


def _ahead(question: ForecastQuestion, now: datetime) -> TimeSteps:
    """Return the steps that have the window; they begin at multiples of their length since the epoch."""
    step = question.step
    if step <= 0 or step % HOUR or WEEK % step:
        message = "step_seconds has to be whole hours of which a week has a whole number, such as 3600, 21600 or 86400."
        raise InvalidInputError(message, field="step_seconds")
    if not LEAST_WEEKS <= question.weeks <= MOST_WEEKS:
        message = f"weeks has to be a whole number from {LEAST_WEEKS} to {MOST_WEEKS}."
        raise InvalidInputError(message, field="weeks")
    if question.end <= max(question.start, now):
        raise InvalidDateError("The window has to end after it begins, and later than now.", field="to")
    begin = to_seconds(max(question.start, now)) // step * step
    steps = -((begin - to_seconds(question.end)) // step)
    if steps > MOST_STEPS or question.end - from_seconds(begin) > LONGEST + timedelta(seconds=step):
        message = (
            f"The answer would have {steps} steps; at most {MOST_STEPS} within {LONGEST.days} days are shown. "
            "Ask for a shorter window, or for longer steps."
        )
        raise InvalidInputError(message, field="to")
    return TimeSteps(begin, step, steps)


def _waiting(
    service: Service, connection: Connection, kind: Kind[Any], now: datetime
) -> tuple[list[tuple[int, int, int]], bool]:
    """Return what leases wait for, as (start, end, resources), and whether there are more of them.

    More resources do not help those that a limit stops.
    """
    needy = (each.id for each in waiting_for(connection, {kind.pool}) if not each.waiting.passed_over)
    idents = list(islice(needy, MOST_WAITING + 1))
    leases = find_leases(connection, idents[:MOST_WAITING])
    wanted = [
        (*window_at(lease.window, now).seconds, sum(_least(service, part, kind) for part in lease.reservations))
        for lease in leases
        if lease.waits
    ]
    return wanted, len(idents) > MOST_WAITING


def _least(service: Service, part: Reservation, kind: Kind[Any]) -> int:
    """Return how many resources a reservation needs at least; one that takes parts of resources, one."""
    found = service.types.find(part.resource_type)
    if found is None or found.kind.pool != kind.pool:
        return 0
    if part.resource_type != kind.name:
        return 1
    return int(part.request.get("min", service.types.amount(part)))


def expected_of(before: Counts, weeks: int, in_week: int, ahead: int, steps: int) -> Expected:
    """Return the expectation of `steps` steps, the first of which comes `ahead` steps after the last of `before`.

    That is the demand of the past, step by step. Each step of a week is expected to be as in the last `weeks` weeks:
    the seasonal naive method, with quantiles of several seasons in place of the last one.
    """
    seasons = before[before.size - weeks * in_week :].reshape(weeks, in_week)
    quantiles = np.quantile(seasons, [0.5, HIGH], axis=0)
    # Rounded before, so that no last digit of a float becomes a resource.
    median, high = np.ceil(np.round(quantiles, _DIGITS)).astype(np.int64)
    places = (ahead + np.arange(steps)) % in_week
    return Expected(median[places], high[places])


def complete_weeks(before: Counts, in_week: int) -> int:
    """Return how many weeks of history there are up to its end: since the first step with any demand."""
    used = np.flatnonzero(before)
    return int((before.size - used[0]) // in_week) if used.size else 0


def peaks(changes: Sequence[Changes], grid: TimeSteps) -> Counts:
    """Return the largest number of each step of a grid, from the changes of the steps that have any."""
    rows = [(each.step, each.highest, each.at_start, each.net) for each in changes]
    places, highest, at_start, net = np.array(rows, np.int64).reshape(-1, 4).T
    of_steps = np.zeros(grid.steps, np.int64)
    of_steps[places] = net
    found: Counts = np.cumsum(of_steps) - of_steps
    found[places] = np.maximum(found[places] + at_start, highest)
    return found


def peaks_of(wanted: Iterable[tuple[int, int, int]], grid: TimeSteps) -> Counts:
    """Return the largest sum of amounts in each step; each is wanted from a start to an end."""
    parts = [(max(start, grid.start), min(end, grid.end), amount) for start, end, amount in wanted]
    there = np.array([part for part in parts if part[0] < part[1]], np.int64).reshape(-1, 3)
    begins, ends, amounts = there.T
    # A sum is largest where something begins, or where the step does.
    moments = np.concatenate([grid.start + grid.seconds * np.arange(grid.steps), begins])
    times, inverse = np.unique(np.concatenate([moments, ends]), return_inverse=True)
    changes = np.concatenate([np.zeros(grid.steps, np.int64), amounts, -amounts])
    sums = np.cumsum(np.bincount(inverse, changes, times.size).astype(np.int64))
    inside = times < grid.end
    found = np.zeros(grid.steps, np.int64)
    np.maximum.at(found, (times[inside] - grid.start) // grid.seconds, sums[inside])
    return found
