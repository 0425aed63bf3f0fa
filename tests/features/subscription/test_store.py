"""Subscriptions: who has something to be sent, claims, progress under a claim, and dead letters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from leasehold.db.engine import writing
from leasehold.db.event_log import log_state, sequence
from leasehold.db.outbox import put_event, put_resource_events
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import subscriptions
from leasehold.features.subscription.model import (
    ChannelName,
    DeadLetter,
    DeliveryProgress,
    DueSubscription,
    Subscription,
    fair_share,
)
from leasehold.features.subscription.store import (
    LONGEST_ERROR,
    add_subscription,
    candidates,
    claim_subscriptions,
    count_subscriptions,
    delete_subscription,
    find_subscription,
    list_dead_letters,
    list_subscriptions,
    release_claims,
    rewind,
    save_progress,
)
from leasehold.model.event_log import ResourceNews
from tests.db.examples import NOW, at_once, enrol, hour, ident, lease

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database

UNTIL = NOW + timedelta(seconds=30)


def subscription(project: str = "demo", **changes: Any) -> Subscription:
    made = Subscription(
        id=ident(),
        project_id=project,
        user_id="alice",
        all_projects=False,
        channel=ChannelName.WEBHOOK,
        target="https://hooks.example.org/" + "x" * 1900,
        secret="whsec_" + "x" * 32,
        event_types=("lease.create", "lease.update"),
        lease_id=None,
        created_at=NOW,
        position=0,
    )
    return replace(made, **changes)


def add(db: Database, project: str = "demo", **changes: Any) -> Subscription:
    made = subscription(project, **changes)
    db.transact(partial(add_subscription, new=made))
    return made


def happen(db: Database, *projects: str) -> None:
    """Write an event of a lease of each project, and put them in order; "" is one of a resource."""

    def write(connection: Connection) -> None:
        for project in projects:
            if project:
                put_event(connection, "lease.create", lease(project_id=project), NOW)
            else:
                found = resources_by_number(connection, [enrol(connection)])
                put_resource_events(connection, ResourceNews.HEALTH, list(found.values()), NOW)

    db.transact(write)
    db.transact(partial(sequence, most=100))


def waiting(db: Database, now: Any = NOW) -> list[str]:
    with db.reading() as connection:
        return [each.id for each in candidates(connection, now)]


def claim(db: Database, *ids: str, claimer: str = "one", now: Any = NOW) -> list[str]:
    claimed = partial(claim_subscriptions, ids=ids, claimer=claimer, now=now, until=now + timedelta(seconds=30))
    return [each.id for each in db.transact(claimed)]


def save(db: Database, mine: str, progress: DeliveryProgress, claimer: str = "one", **more: Any) -> bool:
    return db.transact(
        partial(save_progress, ident=mine, claimer=claimer, progress=progress, **{"until": UNTIL, **more})
    )


def found(db: Database, mine: str) -> Subscription | None:
    with db.reading() as connection:
        return find_subscription(connection, mine)


def letters(db: Database, mine: str, after: int = 0, limit: int = 10) -> list[DeadLetter]:
    with db.reading() as connection:
        return list(list_dead_letters(connection, mine, after, limit))


def dead(position: int) -> DeadLetter:
    return DeadLetter(f"{position}-0123456789abcdef", position, "lease.create", None, NOW, "no")


def test_a_subscription_comes_back_as_it_was_written(db: Database) -> None:
    mine = add(db, lease_id=ident(), all_projects=True)
    theirs = add(db, "alt", created_at=hour(1), event_types=())
    assert found(db, mine.id) == mine
    assert found(db, "none-such") is None
    with db.reading() as connection:
        assert list_subscriptions(connection, "alt") == [theirs]
        assert list_subscriptions(connection, None) == [mine, theirs]
        assert (count_subscriptions(connection, "demo"), count_subscriptions(connection, "x")) == (1, 0)
    db.transact(partial(delete_subscription, ident=mine.id))
    assert found(db, mine.id) is None


def test_those_wait_whose_project_has_news(db: Database) -> None:
    demo, alt, everything = add(db), add(db, "alt"), add(db, "ops", all_projects=True)
    assert waiting(db) == []
    happen(db, "", "demo")
    assert set(waiting(db)) == {demo.id, everything.id}
    assert claim(db, demo.id, everything.id) != []
    assert save(db, demo.id, DeliveryProgress(2), until=None)
    assert save(db, everything.id, DeliveryProgress(1), until=None)
    assert waiting(db) == [everything.id]
    happen(db, "alt")
    assert set(waiting(db)) == {alt.id, everything.id}


def test_who_was_served_longest_ago_is_served_next_however_far_behind_others_are(db: Database) -> None:
    mine = [add(db, created_at=hour(number)).id for number in range(4)]
    happen(db, "demo", "demo", "demo")
    assert waiting(db, hour(9)) == mine
    for number, each in enumerate(mine[:3]):
        claim(db, each, now=hour(10 + number))
        assert save(db, each, DeliveryProgress(0, slow_until=hour(99) if number == 1 else None), until=None)
    with db.reading() as connection:
        found = candidates(connection, hour(20))
        assert [each.id for each in found if not each.slow] == [mine[3], mine[0], mine[2]]
        assert [each.id for each in found if each.slow] == [mine[1]]
        assert not any(each.slow for each in candidates(connection, hour(99)))


def test_each_project_has_its_turn_however_many_others_have(db: Database) -> None:
    mine = [[add(db, project, created_at=hour(number)).id for number in range(3)] for project in ("a", "b")]
    late = add(db, "c", created_at=hour(8)).id
    happen(db, "a", "b", "c")
    assert waiting(db, hour(9))[:3] == [mine[0][0], mine[1][0], late]


@pytest.mark.parametrize("projects", [4, 8])
def test_what_is_new_waits_for_a_turn_of_the_projects_at_most(db: Database, projects: int) -> None:
    """Eight threads are for what is slow. What hangs has its thread for ten seconds and is tried again, ever later."""
    for number in range(projects * 20):
        add(db, f"p{number // 20}", slow_until=hour(9))
    well = add(db, "well", slow_until=hour(9))
    happen(db, *(f"p{number}" for number in range(projects)))
    busy: dict[str, tuple[DueSubscription, int]] = {}
    waits, since, failures = [], 0, Counter[str]()
    for second in range(120):
        now = NOW + timedelta(seconds=second)
        for mine in [name for name, (_, end) in busy.items() if end <= second]:
            failures[mine] += 1
            pause = timedelta(seconds=min(300, 2 ** failures[mine]))
            save(db, mine, DeliveryProgress(0, slow_until=hour(9), due_at=now + pause), mine, until=None)
            del busy[mine]
        if second % 20 == 5:
            happen(db, "well")
            since = second
        with db.reading() as connection:
            found, end = candidates(connection, now), log_state(connection).end.position
        for each in fair_share(found, [one for one, _ in busy.values()], 16):
            assert claim(db, each.id, claimer=each.id, now=now)
            if each.id == well.id:
                waits.append(second - since)
                save(db, well.id, DeliveryProgress(end, slow_until=hour(9)), well.id, until=None)
            else:
                busy[each.id] = (each, second + 10)
    assert len(waits) == 6
    assert max(waits) <= (10 if projects == 4 else 20)


def test_a_channel_that_only_a_newer_version_knows_is_left_to_that(db: Database, engine: Engine) -> None:
    mine, other = add(db), add(db)
    with writing(engine) as connection:
        connection.execute(update(subscriptions).where(subscriptions.c.id == other.id).values(channel="telepathy"))
        connection.commit()
    happen(db, "demo")
    assert waiting(db) == [mine.id]


def test_the_secret_is_in_no_message(db: Database) -> None:
    mine = add(db)
    assert mine.secret not in repr(mine)
    with pytest.raises(IntegrityError) as met:
        db.transact(partial(add_subscription, new=mine))
    assert mine.secret not in str(met.value)


def test_a_claim_excludes_others_until_it_expires_or_is_released(db: Database) -> None:
    mine = add(db)
    happen(db, "demo")
    assert claim(db, mine.id, "none-such") == [mine.id]
    assert claim(db, mine.id, claimer="two") == waiting(db) == []
    later = UNTIL + timedelta(seconds=1)
    assert waiting(db, later) == claim(db, mine.id, claimer="two", now=later) == [mine.id]
    assert not save(db, mine.id, DeliveryProgress(1), dead=dead(1))
    assert (found(db, mine.id), letters(db, mine.id)) == (mine, [])
    db.transact(partial(release_claims, ids=[mine.id], claimers=["one"]))
    assert waiting(db) == []
    db.transact(partial(release_claims, ids=[mine.id], claimers=["two"]))
    assert waiting(db) == [mine.id]


def test_who_failed_waits_until_its_next_try_and_who_is_suspended_for_a_replay(db: Database) -> None:
    mine = add(db)
    happen(db, "demo")
    claim(db, mine.id)
    failed = DeliveryProgress(0, failures=1, failing_since=NOW, due_at=hour(1), last_error="x" * 5000)
    assert save(db, mine.id, failed, until=None)
    assert waiting(db, hour(0.99)) == claim(db, mine.id, now=hour(0.99)) == []
    assert waiting(db, hour(1)) == claim(db, mine.id, now=hour(1)) == [mine.id]
    shown = found(db, mine.id)
    assert shown is not None
    assert (shown.status, shown.failures, shown.last_error) == ("failing", 1, "x" * LONGEST_ERROR)
    assert save(db, mine.id, replace(failed, due_at=None, suspended_at=hour(1)), until=None)
    assert waiting(db, hour(9)) == claim(db, mine.id, now=hour(9)) == []
    db.transact(partial(rewind, ident=mine.id, position=0))
    assert found(db, mine.id) == mine
    assert waiting(db, hour(9)) == [mine.id]


def test_dead_letters_are_listed_in_order_and_forgotten_when_they_are_replayed_or_deleted(db: Database) -> None:
    mine, other = add(db), add(db)
    for each in (mine, other):
        happen(db, "demo")
        claim(db, each.id)
        for position in (1, 2, 3, 2):
            assert save(db, each.id, DeliveryProgress(position), dead=dead(position))
    assert letters(db, mine.id) == [dead(1), dead(2), dead(3)]
    assert letters(db, mine.id, after=1, limit=1) == [dead(2)]
    db.transact(partial(rewind, ident=mine.id, position=1))
    assert letters(db, mine.id) == [dead(1)]
    assert not save(db, mine.id, DeliveryProgress(3))
    db.transact(partial(delete_subscription, ident=mine.id))
    assert (letters(db, mine.id), letters(db, other.id)) == ([], [dead(1), dead(2), dead(3)])


@pytest.mark.slow
def test_of_several_managers_one_gets_each_subscription(engine: Engine, db: Database) -> None:
    ids = [add(db).id for _ in range(20)]
    happen(db, "demo")

    def work(own: Database, number: int) -> list[str]:
        return claim(own, *ids, claimer=f"manager-{number}")

    won = at_once(engine, 4, work)
    assert sorted(each for some in won for each in some) == sorted(ids)
