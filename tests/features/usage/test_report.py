"""Usage: sums of random records on each database, against a count by hand, and their laws (feature G8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.features.usage.metrics import read_amounts
from leasehold.features.usage.model import Loss
from leasehold.features.usage.report import Usage, read_usage
from leasehold.features.usage.summing import sum_days
from leasehold.features.usage.sums import DAY, Asked, Group
from leasehold.model.resource import FLOATING_IP, HOST, MAINTENANCE
from leasehold.model.windows import from_seconds
from tests.db.examples import NOW
from tests.features.usage.records import END, PROMISES, REACH, Piece, Promise, Writer, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.db.store import Database
    from leasehold.features.usage.report import Part

pytestmark = pytest.mark.slow

MOMENTS = st.integers(END - REACH - DAY, END)
BORDERS = st.tuples(MOMENTS, MOMENTS, MOMENTS).map(sorted).filter(lambda found: found[0] < found[1] < found[2])
REFUSED = st.tuples(st.integers(0, 90), st.sampled_from(["demo", "other"]), st.sampled_from([HOST, FLOATING_IP, ""]))
WHOLE = (Group.PROJECT, Group.KIND, Group.DAY)
Rows = dict[tuple[Any, ...], Usage]

examples = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(db: Database, asked: Asked) -> Rows:
    with db.reading() as connection:
        return {key(part): usage for part, usage in read_usage(connection, asked)}


def key(part: Part) -> tuple[Any, ...]:
    day = None if part.day is None else (part.day - from_seconds(0).date()) // timedelta(days=1) * DAY
    named = (part.project_id, part.user_id, part.lease_id, part.resource, day)
    return (*(each for each in named if each is not None), part.resource_type)


def known(rows: Rows, name: str) -> Counter[tuple[Any, ...]]:
    """Return a sum by key, where it is not null and not nothing."""
    found = {each: getattr(usage, name) for each, usage in rows.items()}
    return Counter({each: value for each, value in found.items() if value})


ALL_MISSING = Promise("demo", None, HOST, 3, 3, False, (0, 1), [Piece(0, (0, 1), 1, 0.0, False)], [], [])


@examples
@example(
    promises=[ALL_MISSING],
    borders=(END - REACH, END - REACH + 1, END),
    group=Group.RESOURCE,
    project=None,
    since=END - REACH,
    refused=[],
)
@given(
    promises=st.lists(PROMISES, max_size=5),
    borders=BORDERS,
    group=st.sampled_from(Group),
    project=st.sampled_from([None, None, "demo"]),
    since=MOMENTS,
    refused=st.lists(REFUSED, max_size=4),
)
def test_sums_are_as_counted_by_hand(
    db: Database,
    promises: list[Promise],
    borders: Sequence[int],
    group: Group,
    project: str | None,
    since: int,
    refused: list[tuple[int, str, str]],
) -> None:
    looked = {HOST: since}
    start, _, end = borders
    asked = Asked(start, end, END, group, project)

    def fill(connection: Any) -> None:
        writer = Writer(connection)
        writer.write(promises, looked)
        writer.refuse(refused)

    db.transact(fill)
    rows = read(db, asked)
    sum_days(db, NOW)
    assert read(db, asked) == rows
    for name in ("held", "late", *(() if group is Group.RESOURCE else ("missing", "given_up"))):
        assert known(rows, name) == counted(promises, name, asked), name
    if group in WHOLE:
        assert known(rows, "lent") == counted(promises, "lent", asked)
        assert sum(known(rows, "refused").values()) == sum(
            start <= END - 3600 * hour < end and project in (None, by) for hour, by, _ in refused
        )
    check_use(rows, promises, asked, since)


def check_use(rows: Rows, promises: Sequence[Promise], asked: Asked, since: int) -> None:
    looks = since < asked.end
    for each, usage in rows.items():
        assert (usage.used is None) == (usage.idle is None) == (each[-1] != HOST or not looks)
    if not looks:
        return
    hosts = [each for each in promises if each.type == HOST]
    used = counted(renumbered(promises, hosts), "used", asked, start=since)
    assert known(rows, "used") == used
    watched = {name: counted(renumbered(promises, hosts), name, asked, start=since) for name in ("held", "late")}
    idle = Counter(watched["held"])
    idle.subtract(watched["late"])
    idle.subtract(used)
    assert known(rows, "idle") == {each: value for each, value in idle.items() if value}
    never = renumbered(promises, [each for each in hosts if not each.uses])
    shown = counted(never, "held", asked, start=since)
    shown.subtract(counted(never, "late", asked, start=since))
    assert known(rows, "no_show") == {each: value for each, value in shown.items() if value}


def renumbered(promises: Sequence[Promise], some: Sequence[Promise]) -> list[Promise]:
    """Return all promises, each at its place, but with nothing in those that are not among some."""
    chosen = {id(each) for each in some}
    nothing: dict[str, Any] = {"pieces": [], "losses": [], "uses": [], "told": None}
    return [each if id(each) in chosen else replace(each, **nothing) for each in promises]


@examples
@given(promises=st.lists(PROMISES, max_size=5), borders=BORDERS, group=st.sampled_from(Group), since=MOMENTS)
def test_windows_that_follow_one_another_add_up(
    db: Database, promises: list[Promise], borders: Sequence[int], group: Group, since: int
) -> None:
    db.transact(lambda connection: Writer(connection).write(promises, {HOST: since, FLOATING_IP: END - 10 * REACH}))
    sum_days(db, NOW)
    first, middle, last = borders
    whole, *parts = (
        read(db, Asked(start, end, END, group)) for start, end in ((first, last), (first, middle), (middle, last))
    )
    for name in (*(each.name for each in fields(Usage)), "active"):
        assert known(parts[0], name) + known(parts[1], name) == +known(whole, name) or name == "idle", name
    of_parts = known(parts[0], "idle")
    of_parts.update(known(parts[1], "idle"))
    assert {each: value for each, value in of_parts.items() if value} == known(whole, "idle")


@examples
@given(promises=st.lists(PROMISES, max_size=5), borders=BORDERS)
def test_what_was_held_is_what_the_segments_say(db: Database, promises: list[Promise], borders: Sequence[int]) -> None:
    db.transact(lambda connection: Writer(connection).write(promises, {}))
    since, until = (from_seconds(borders[each]) for each in (0, 2))
    with db.reading() as connection:
        found = [
            (each.resource_type, each.slots * int(each.within(since, until).total_seconds()))
            for each in each_segment(connection, SegmentFilter(since=since, until=until), NOW)
        ]
    sums: Counter[Any] = Counter()
    for kind, seconds in found:
        sums[(kind,)] += seconds
    rows = read(db, Asked(borders[0], borders[2], END, Group.KIND))
    assert known(rows, "held") == {each: value for each, value in sums.items() if value and each[0] != MAINTENANCE}


def test_states_of_a_promise_tile_its_life(db: Database) -> None:
    """What was promised is late, active, missing or given up: at each moment one of these."""
    losses = [(Loss.LATE, 2, (0, 600)), (Loss.MISSING, 1, (600, 1200)), (Loss.GIVEN_UP, 2, (3600, 3600))]
    made = Promise("demo", None, HOST, 2, 0, True, None, [], losses, [])
    db.transact(lambda connection: Writer(connection).write([made], {}))
    rows = read(db, Asked(END - REACH, END, END, Group.KIND))
    assert rows[(HOST,)].promised == 1200 + 2 * 3600


def test_gauges_are_the_average_of_a_window(db: Database) -> None:
    piece = Piece(host=0, span=(0, 3 * 3600), slots=2, recorded=1.0, left=False)
    losses = [(Loss.LATE, 2, (0, 1800)), (Loss.GIVEN_UP, 1, (3600, 3600))]
    made = Promise("demo", None, HOST, 2, 0, True, None, [piece], losses, [(0, 1, (1800, 3600))])
    db.transact(lambda connection: Writer(connection).write([made], {}))
    start = END - REACH
    with db.reading() as connection:
        found = read_amounts(connection, Asked(start, start + 3600, END, Group.PROJECT))
    assert found == {
        ("demo", HOST, "held"): 2.0,
        ("demo", HOST, "late"): 1.0,
        ("demo", HOST, "used"): 0.5,
    }
