"""Leases: written as a whole, updated by their differences, listed chunk by chunk; and the events about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.api.lease_texts import LeaseTexts
from leasehold.db.allocation import unreleased_on
from leasehold.db.leases import lease_parts
from leasehold.db.leases import listed as lists
from leasehold.db.leases.lease import LONGEST_REASON, Claimed, find_claimed, find_lease, insert_lease, save_lease
from leasehold.db.leases.listed import each_lease, each_text
from leasehold.db.outbox import put_event
from leasehold.db.tables import leases, outbox
from leasehold.db.task import LEASE, add_task_once, claim_tasks
from leasehold.db.together import together
from leasehold.model.lease import Event
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.transitions import ForbiddenTransitionError
from tests.db.examples import NOW, count, enrol, hold, hour, hours, ident, lease, reservation, statements, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Engine, Row

    from leasehold.db.store import Database
    from leasehold.model.lease import EventFields, Lease

EMOJI = "\U0001f680"
MICROSECOND = timedelta(microseconds=1)


def found(db: Database, lease: Lease, *, gone: bool = False) -> Lease:
    with db.reading() as connection:
        again = find_lease(connection, lease.id, gone=gone)
    assert again is not None
    return again


def listed(db: Database, project: str | None = None) -> list[Lease]:
    with db.reading() as connection:
        return list(each_lease(connection, project))


def saved(db: Database, before: Lease, after: Lease, hours_from_now: float = 1) -> Lease:
    return db.transact(lambda connection: save_lease(connection, before, after, hour(hours_from_now)))


# ---------------------------------------------------------------- written and found


OWNER = lease()
CLIENTS_OWN = Event(ident(), OWNER.id, "my_event", None, None, created_at=NOW)
PART = reservation(
    OWNER.id,
    request={"min": 1, "properties": '["==", "$gpu", "True"]', "nested": {"list": [1, None, True, "ü"]}},
    status=ReservationStatus.ERROR,
    missing_resources=True,
    resources_changed=True,
    cloud={"aggregate_id": 7},
    updated_at=hour(1),
)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"parts": 12, "status_reason": "why", "degraded": True, "generation": 7}, id="many parts"),
        pytest.param({"id": OWNER.id, "reservations": (PART,), "events": ()}, id="all that a reservation says"),
        pytest.param({"reservations": (), "events": ()}, id="no reservations and events"),
        pytest.param({"id": OWNER.id, "reservations": (), "events": (CLIENTS_OWN,)}, id="an event without time"),
        pytest.param({"name": EMOJI * 80, "project_id": "p" * 255, "user_id": "u" * 255}, id="the longest names"),
        pytest.param({"window": replace(hours(1, 2), start=hour(1) + MICROSECOND)}, id="a window with microseconds"),
    ],
)
def test_a_lease_comes_back_as_it_was_written(db: Database, values: dict[str, Any]) -> None:
    written = db.transact(partial(write, **values))
    assert found(db, written) == written


def test_a_lease_is_written_in_three_statements_however_many_parts_it_has(db: Database, engine: Engine) -> None:
    with statements(engine) as asked:
        db.transact(partial(write, parts=10))
    assert len(asked) == 3


def test_a_window_that_ends_before_it_starts_is_not_read_as_one(db: Database) -> None:
    """Nobody of us writes such a row; somebody who writes to the database by hand learns of it before it decides."""
    wrong = db.transact(write)
    ends = wrong.window.start - MICROSECOND
    db.transact(
        lambda connection: connection.execute(update(leases).where(leases.c.id == wrong.id).values(end_at=ends))
    )
    with pytest.raises(ValueError, match="cannot end"):
        found(db, wrong)
    with pytest.raises(ValueError, match="cannot end"):
        listed(db)


def test_a_deleted_lease_is_found_only_by_who_asks_for_deleted_ones(db: Database) -> None:
    written = db.transact(write)
    saved(db, written, replace(written, deleted_at=NOW))
    with db.reading() as connection:
        assert find_lease(connection, written.id) is None
    assert found(db, written, gone=True).deleted_at == NOW


def test_a_locked_lease_is_as_the_previous_holder_left_it(db: Database) -> None:
    written = db.transact(write)

    def rename(connection: Connection) -> Lease:
        locked = find_lease(connection, written.id, lock=True)
        assert locked is not None
        return save_lease(connection, locked, replace(locked, name=f"{locked.name}+"), NOW)

    assert [db.transact(rename).name for _ in range(2)] == ["lease+", "lease++"]


# ---------------------------------------------------------------- changed


def test_saving_moves_the_generation_on_and_returns_what_is_then_found(db: Database) -> None:
    written = db.transact(partial(write, parts=2, status=LeaseStatus.STARTING))
    wanted = replace(
        written.with_event(EventType.START, status=EventStatus.DONE, time=hour(3)).with_reservations(
            {written.reservations[1].id},
            status=ReservationStatus.ACTIVE,
            request={"min": 2},
            missing_resources=True,
            resources_changed=True,
            cloud={"aggregate_id": 1},
        ),
        name="other",
        window=hours(3, 9),
        status=LeaseStatus.ACTIVE,
        status_reason="because",
        degraded=True,
    )
    after = saved(db, written, wanted)
    assert (after.generation, after.updated_at) == (2, hour(1))
    again = found(db, written)
    assert (after.reservations, set(after.events)) == (again.reservations, set(again.events))
    assert (again.generation, again.updated_at, again.name, again.window) == (2, hour(1), "other", hours(3, 9))
    assert (again.status, again.status_reason, again.degraded) == (LeaseStatus.ACTIVE, "because", True)
    assert again.reservations[0] == written.reservations[0]
    assert again.reservations[1] == replace(wanted.reservations[1], updated_at=hour(1))
    start, end = again.event(EventType.START), again.event(EventType.END)
    assert (start and (start.status, start.time, start.updated_at)) == (EventStatus.DONE, hour(3), hour(1))
    assert end == written.event(EventType.END)


def test_saving_what_is_the_same_asks_nothing_and_changes_nothing(db: Database, engine: Engine) -> None:
    written = db.transact(write)
    with statements(engine) as asked:
        assert saved(db, written, replace(written)) == written
    assert asked == []


def test_saving_asks_once_for_each_kind_of_row_that_differs(db: Database, engine: Engine) -> None:
    changes: Sequence[tuple[Callable[[Lease], Lease], set[str]]] = (
        (lambda lease: replace(lease, name="other"), {"leases"}),
        (lambda lease: lease.with_reservations(None, cloud={"aggregate_id": 1}), {"leases", "reservations"}),
        (lambda lease: lease.with_event(EventType.END, time=hour(9)), {"leases", "events"}),
    )
    for change, changed in changes:
        written = db.transact(partial(write, parts=4))
        with statements(engine) as asked:
            saved(db, written, change(written))
        *saving, kept = asked
        assert {statement.split()[1] for statement in saving} == changed
        # No event tells of it, so its state is written as well.
        assert kept.startswith("INSERT INTO lease_states ")


def test_a_status_changes_only_as_the_table_of_transitions_says(db: Database) -> None:
    written = db.transact(write)
    with pytest.raises(ForbiddenTransitionError):
        saved(db, written, replace(written, name="other", status=LeaseStatus.ACTIVE))
    assert found(db, written) == written


def test_a_reason_longer_than_anybody_reads_is_cut(db: Database) -> None:
    written = db.transact(write)
    after = saved(db, written, replace(written, status_reason=EMOJI * 70_000))
    assert after.status_reason == EMOJI * LONGEST_REASON
    assert found(db, written).status_reason == after.status_reason


def test_other_leases_stay_as_they_are(db: Database) -> None:
    written, other = (db.transact(write) for _ in range(2))
    saved(db, written, written.with_reservations(None, missing_resources=True))
    assert found(db, other) == other


# ---------------------------------------------------------------- listed


def test_leases_are_listed_oldest_first(db: Database) -> None:
    ids = [db.transact(partial(write, created_at=hour(-age))).id for age in (1, 3, 2)]
    assert [each.id for each in listed(db)] == [ids[1], ids[2], ids[0]]


def test_a_project_lists_its_own_leases(db: Database) -> None:
    ids = [db.transact(partial(write, project_id=name)).id for name in ("demo", "alt")]
    assert [each.id for each in listed(db, "demo")] == ids[:1]
    assert listed(db, "nobody") == []
    assert len(listed(db)) == 2


def test_deleted_leases_are_not_listed(db: Database) -> None:
    stays, goes = (db.transact(write) for _ in range(2))
    saved(db, goes, replace(goes, deleted_at=NOW))
    assert [each.id for each in listed(db)] == [stays.id]


def test_a_list_shows_reservations_and_events_but_no_promises(db: Database) -> None:
    written = db.transact(partial(write, parts=2))
    number = db.transact(enrol)
    db.transact(lambda connection: hold(connection, written, number))
    assert [len(part.allocations) for part in found(db, written).reservations] == [1, 0]
    assert listed(db) == [written]


def test_leases_that_ask_for_the_same_share_nothing(db: Database) -> None:
    for _ in range(2):
        db.transact(write)
    first, second = (each.reservations[0] for each in listed(db))
    assert isinstance(first.request, dict)
    first.request["min"] = 99
    assert second.request == listed(db)[0].reservations[0].request != first.request


@pytest.mark.slow
@pytest.mark.parametrize(("many", "statements_of_all"), [(1, 2), (lease_parts.FEW, 2), (999, 3)])
def test_a_list_takes_two_statements_and_a_long_one_three(
    db: Database, engine: Engine, many: int, statements_of_all: int
) -> None:
    written = [lease(parts=2, created_at=hour(number)) for number in range(many)]
    gone = lease()

    def write_all(connection: Connection) -> None:
        for each in (*written, gone):
            insert_lease(connection, each)

    db.transact(write_all)
    saved(db, gone, replace(gone, deleted_at=NOW))
    for project in ("demo", None):
        with statements(engine) as asked:
            assert listed(db, project) == written
        assert len(asked) == statements_of_all
    with statements(engine) as asked:
        assert listed(db, "nobody") == []
    assert len(asked) == 1


# ---------------------------------------------------------------- in chunks


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 8])
def test_a_long_list_is_the_same_whatever_it_holds_at_a_time(
    db: Database, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """Several leases have the same creation time; one belongs to another project."""
    for number in range(7):
        db.transact(partial(write, parts=number % 3, created_at=hour(number // 3)))
    db.transact(partial(write, project_id="other", created_at=hour(1)))
    everything, own = listed(db), [each for each in listed(db) if each.project_id != "other"]
    monkeypatch.setattr(lists, "CHUNK", chunk)
    project = own[0].project_id
    with db.reading() as connection:
        assert list(each_lease(connection, None)) == everything
        assert list(each_lease(connection, project)) == own
        seen = []

        def show(of: Lease, moments: Sequence[EventFields]) -> bytes:
            seen.append((of, {*map(tuple, moments)}))
            return of.id.encode()

        texts = list(each_text(connection, None, LeaseTexts().seen(), show))
        assert seen == [(replace(each, events=()), set(each.event_fields)) for each in everything]
        assert texts == [each.id.encode() for each in everything]
        for place, each in enumerate(own):
            after = (each.created_at or NOW, each.id)
            assert list(each_lease(connection, project, after=after)) == own[place + 1 :]
            for limit in (1, 2, 5, 100):
                found = list(each_lease(connection, project, after=after, limit=limit))
                assert found == own[place + 1 :][:limit]


FILTERS = [
    LeaseFilter(),
    LeaseFilter(name="Late"),
    LeaseFilter(name="late "),
    LeaseFilter(statuses=frozenset({LeaseStatus.ACTIVE, LeaseStatus.ERROR})),
    LeaseFilter(ends_after=hour(2)),
    LeaseFilter(starts_before=hour(1)),
    LeaseFilter(name="late", statuses=frozenset({LeaseStatus.ACTIVE}), ends_after=hour(1), starts_before=hour(3)),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=range(len(FILTERS)))
@pytest.mark.parametrize("chunk", [2, 1000])
def test_a_filter_finds_exactly_what_it_says(
    db: Database, monkeypatch: pytest.MonkeyPatch, wanted: LeaseFilter, chunk: int
) -> None:
    """Names are compared to the letter on every database."""
    for number, name in enumerate(["late", "Late", "late ", "late", "early"]):
        status = LeaseStatus.ACTIVE if number % 2 else LeaseStatus.PENDING
        db.transact(partial(write, name=name, window=hours(number % 3, number + 1), status=status))
    expected = [
        each.id
        for each in listed(db)
        if wanted.name in (None, each.name)
        and (not wanted.statuses or each.status in wanted.statuses)
        and (wanted.ends_after is None or each.window.end > wanted.ends_after)
        and (wanted.starts_before is None or each.window.start < wanted.starts_before)
    ]
    assert expected
    monkeypatch.setattr(lists, "CHUNK", chunk)
    with db.reading() as connection:
        assert [each.id for each in each_lease(connection, None, wanted=wanted)] == expected


# ---------------------------------------------------------------- the outbox


def entries(db: Database) -> list[Row[Any]]:
    with db.reading() as connection:
        return list(connection.execute(select(outbox).order_by(outbox.c.id)))


def test_entries_keep_the_order_in_which_they_were_written(db: Database) -> None:
    """This includes entries of the same moment, and of a clock that was set back."""
    for number, moment in enumerate((1, 1, 0, 2)):
        db.transact(lambda connection: put_event(connection, f"lease.{number}", lease(), hour(moment)))  # noqa: B023 - runs at once.
    assert [entry.event_type for entry in entries(db)] == ["lease.0", "lease.1", "lease.2", "lease.3"]


def test_an_entry_shows_the_state_that_it_left_behind(db: Database) -> None:
    happened = replace(lease(), status=LeaseStatus.ACTIVE)
    db.transact(lambda connection: put_event(connection, "lease.event.start_lease", happened, NOW))
    [entry] = entries(db)
    assert (entry.lease_id, entry.project_id, entry.event_type) == (happened.id, "demo", "lease.event.start_lease")
    assert entry.created_at == NOW
    [part] = happened.reservations
    assert entry.payload == {
        "lease_id": happened.id,
        "user_id": "alice",
        "project_id": "demo",
        "trust_id": None,
        "name": "lease",
        "start_date": "2031-05-01T10:00:00+00:00",
        "end_date": "2031-05-01T11:00:00+00:00",
        "status": "ACTIVE",
        "degraded": False,
        "reservations": [
            {
                "id": part.id,
                "resource_type": "physical:host",
                "status": "pending",
                "missing_resources": False,
                "resources_changed": False,
            }
        ],
        "events": [{"id": each.id, "event_type": each.type, "status": "UNDONE"} for each in happened.events],
    }


def test_what_was_rolled_back_never_happened(db: Database, engine: Engine) -> None:
    def work(connection: Connection) -> None:
        put_event(connection, "lease.create", write(connection), NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.transact(work)
    assert count(engine, outbox) == 0


# ---------------------------------------------------------------- a lease that a worker has claimed


def claimed(db: Database, lease_id: str, now: datetime) -> Claimed | None:
    def claim(connection: Connection) -> Claimed | None:
        add_task_once(connection, LEASE, lease_id, NOW)
        [_] = claim_tasks(connection, "worker", NOW, timedelta(minutes=1), 1)
        return find_claimed(connection, [lease_id], now).get(lease_id)

    return db.transact(claim)


def test_a_claimed_lease_comes_with_its_holder_and_with_what_others_have_not_left(db: Database) -> None:
    host, other = (db.transact(partial(enrol, name=name)) for name in ("a", "b"))
    before, mine, far = (db.transact(write) for _ in range(3))
    [left] = db.transact(lambda c: hold(c, before, host, window=hours(-1, 1)))
    db.transact(lambda c: hold(c, before, host, window=hours(2, 3)))
    db.transact(lambda c: hold(c, far, other, window=hours(-1, 1)))
    db.transact(lambda c: hold(c, mine, host))
    got = claimed(db, mine.id, mine.window.start)
    own = {each.id for part in found(db, mine).reservations for each in part.allocations}
    assert got is not None
    assert (got.lease, got.holder) == (found(db, mine), "worker")
    assert {each.id for each in got.there or ()} == own | {left}
    with db.reading() as connection:
        assert {each.id for each in unreleased_on(connection, [host], mine.window.start)} == own | {left}


def test_others_are_not_looked_for_before_the_start(db: Database) -> None:
    mine = db.transact(write)
    assert claimed(db, mine.id, mine.window.start - timedelta(seconds=1)) == Claimed(found(db, mine), "worker", None)


def test_of_a_lease_that_is_gone_there_is_nothing(db: Database) -> None:
    assert claimed(db, "gone", NOW) is None


def test_a_lease_that_is_not_locked_is_saved_only_as_it_was_read(db: Database) -> None:
    seen = db.transact(write)

    class ChangedError(Exception):
        pass

    def save(connection: Connection, before: Lease, after: Lease) -> Lease:
        with together(connection) as writes:
            written = save_lease(writes, before, after, NOW, locked=False)
        if not writes.is_complete:
            raise ChangedError
        return written

    saved_once = db.transact(partial(save, before=seen, after=replace(seen, name="new")))
    assert found(db, seen) == saved_once
    with pytest.raises(ChangedError):
        db.transact(partial(save, before=seen, after=replace(seen, name="newer")))
    assert found(db, seen) == saved_once
