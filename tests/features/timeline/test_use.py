"""The timeline of random books, on every database: what the tables say at each second, and no more than one may see."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, update

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.conf.settings import Settings
from leasehold.db.pool import move_pools, new_nonce
from leasehold.db.resources.property import define_properties, set_privacy
from leasehold.db.resources.resource import put_properties, remove_resource, update_resources
from leasehold.db.tables import allocations, leases, pools, reservations, resource_properties, resources, segments
from leasehold.features.timeline.model import Timeline, TimelineRow
from leasehold.features.timeline.rows import Eyes
from leasehold.features.timeline.use import TimelineQuestion, timeline_of
from leasehold.features.timeline.view import show_timeline
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.service import Service
from leasehold.model.caller import Caller, Sight
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST, HOST_POOL, MAINTENANCE, Health
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.db.examples import NOW, enrol, ident, statements
from tests.factory import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from leasehold.db.store import Database

pytestmark = pytest.mark.slow

BASE = to_seconds(NOW)
SPAN = 40
"""Everything happens within so many seconds before and after NOW."""
SECRET = "zq"
"""What nobody else may read contains this."""
PROJECTS = ("mine", f"{SECRET}-p1", f"{SECRET}-p2")
SIZES = (None, None, {"VCPU": 2, "MEMORY_MB": 512}, {"VCPU": 1})
MEMBER = Eyes(Caller("me", "mine"), Sight(hosts=False, private=False, disabled=False), everything=False)
LISTER = replace(MEMBER, sight=Sight(hosts=True, private=False, disabled=False))
Shown = tuple[str, str | None, Any]
"""Kind, lease and amount of what a second shows."""
OPERATOR = Eyes(Caller("root", "mine"), Sight(), everything=True)


@dataclass(frozen=True)
class Claim:
    """A lease has `amount` of a resource (None: all of it) from one second to another; None: until now at least."""

    number: int
    lease: str
    start: int
    end: int | None
    tail: str = ""
    amount: tuple[tuple[str, int], ...] | None = None


@dataclass
class Books:
    """Random rows, and what they mean."""

    dice: Random
    numbers: dict[str, list[int]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    names: dict[int, str] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    owners: dict[str, tuple[str, str, str, int, int, bool]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def fill(self, connection: Connection) -> None:
        define_properties(connection, HOST, ["rack", "mark", "serial"], NOW)
        set_privacy(connection, HOST, "serial", NOW, private=True)
        for place in range(6):
            self._host(connection, place)
        self.numbers[FLOATING_IP] = [self._address(connection, place) for place in range(3)]
        for _ in range(30):
            self._lease(connection)

    def _host(self, connection: Connection, place: int) -> None:
        changes: dict[str, Any] = {"capacity": {"VCPU": 16, "MEMORY_MB": 9000}}
        if place == 3:
            changes["projects"] = ["another"]
        if place == 4:
            changes |= {"membership": "shared", "reservable": False}
        if place == 1:
            changes |= {"health": Health.FAILED, "disabled": True, "disabled_reason": f"{SECRET} broken"}
        number = enrol(connection, f"{SECRET}-{place}", **changes)
        if place == 5:
            gone = update(resources).where(resources.c.number == number)
            connection.execute(gone.values(alive=None, deleted_at=NOW))
        self.numbers.setdefault(HOST, []).append(number)
        self.names[number] = f"{SECRET}-{place}.example"
        kept = {3: self.closed, 4: self.shared, 5: self.removed}.get(place, set())
        kept.add(number)
        # The operators have made public which host is which, so that the test knows it.
        self.marks[f"m{place}"] = number
        values = {"rack": f"r{place % 2}", "mark": f"m{place}", "serial": f"{SECRET}-serial-{place}"}
        rows = [{"resource_number": number, "name": name, "value": value} for name, value in values.items()]
        connection.execute(insert(resource_properties), rows)

    def _address(self, connection: Connection, place: int) -> int:
        address = f"10.0.0.{place}"
        number = enrol(
            connection,
            ident(),
            type=FLOATING_IP,
            pool=FLOATING_IP_POOL,
            reference=f"net/{address}",
            capacity={},
            attributes={"floating_ip_address": address},
        )
        self.names[number] = address
        return number

    def _lease(self, connection: Connection) -> None:
        dice = self.dice
        of_addresses, closing = dice.random() < 0.2, dice.random() < 0.15
        kind = FLOATING_IP if of_addresses else MAINTENANCE if closing else HOST
        lease_id, part_id = ident(), ident()
        project = dice.choice(PROJECTS)
        user = dice.choice(["me", "you"]) if project == "mine" else f"{SECRET}-user"
        name = f"{'our' if project == 'mine' else SECRET}-lease-{lease_id[:4]}"
        start = dice.randrange(-SPAN, SPAN)
        end = start + dice.randrange(1, 20)
        begin, finish = start + dice.choice([0, 0, 0, 2]), end - dice.choice([0, 0, 0, 1])
        status = dice.choice(["PENDING", "ACTIVE", "TERMINATED", "OFFERED"])
        deleted = dice.random() < 0.15
        row = {"id": lease_id, "name": name, "user_id": user, "project_id": project, "status": status}
        dates = {"start_at": moment(begin), "end_at": moment(max(begin, finish)), "created_at": NOW}
        gone = {"deleted_at": NOW if deleted else None}
        fares = {"degraded": is_degraded(lease_id), "at_risk": is_at_risk(lease_id)}
        connection.execute(insert(leases).values(**row, **dates, **gone, **fares, generation=1))
        part = {"id": part_id, "lease_id": lease_id, "position": 0, "resource_type": kind, "resource_id": ident()}
        flags = {"missing_resources": False, "resources_changed": False, "status": "pending"}
        connection.execute(insert(reservations).values(**part, **flags, request={}, cloud={}, created_at=NOW))
        self.owners[lease_id] = (project, name, status, begin, max(begin, finish), kind == MAINTENANCE)
        pool = FLOATING_IP_POOL if of_addresses else HOST_POOL
        for number in dice.sample(self.numbers[FLOATING_IP if of_addresses else HOST], dice.randrange(1, 4)):
            size = None if kind != HOST else dice.choice(SIZES)
            self._allocation(connection, (lease_id, part_id, kind, pool), number, (start, end), size)

    def _allocation(
        self,
        connection: Connection,
        of: tuple[str, str, str, str],
        number: int,
        window: tuple[int, int],
        size: dict[str, int] | None,
    ) -> None:
        """Write an allocation, and perhaps a segment before it; what began later than now was never vacated."""
        dice, (start, end) = self.dice, window
        lease_id, part_id, kind, pool = of
        slots = 1 if size is None else dice.randrange(1, 3)
        amount = None if size is None else tuple(sorted((name, each * slots) for name, each in size.items()))
        demand = None if size is None else json.dumps(size, sort_keys=True)
        recorded = left = released = None
        if start < 0 and dice.random() < 0.4:
            recorded = dice.randrange(start + 1, min(end, 0) + 1)
            self.claims.append(Claim(number, lease_id, start, recorded, "", amount))
            values = {"lease_id": lease_id, "reservation_id": part_id, "resource_type": kind, "resource": SECRET}
            owner = {
                "project_id": self.owners[lease_id][0],
                "user_id": "me" if self.owners[lease_id][0] == "mine" else SECRET,
            }
            times = {"starts_at": BASE + start, "ends_at": BASE + recorded, "written_at": NOW}
            connection.execute(
                insert(segments).values(
                    **values,
                    **owner,
                    **times,
                    resource_number=number,
                    slots=slots,
                    demand=demand,
                    start_cause="granted",
                )
            )
            left = recorded if dice.random() < 0.4 else None
        if left is not None and dice.random() < 0.5:
            released = dice.randrange(left, 1)
            end = min(end, released)
        elif left is None and end <= 0 and dice.random() < 0.6:
            released = dice.randrange(end, 1)
        connection.execute(
            insert(allocations).values(
                pool=pool,
                reservation_id=part_id,
                lease_id=lease_id,
                resource_number=number,
                starts_at=BASE + start,
                ends_at=BASE + end,
                slots=slots,
                demand=demand,
                generation=1,
                recorded_until=None if recorded is None else BASE + recorded,
                left_at=None if left is None else moment(left),
                released_at=None if released is None else moment(released),
            )
        )
        held = start if recorded is None else recorded
        if left is None and held < end:
            self.claims.append(Claim(number, lease_id, held, end, "", amount))
        if left is not None:
            until = released if released is not None else end if end > 0 else None
            self.claims.append(Claim(number, lease_id, left, until, "vacated", amount))
        elif end <= 0 and start <= 0:
            self.claims.append(Claim(number, lease_id, end, released, "emptying", amount))

    def at(self, number: int, second: int) -> list[Claim]:
        """Return what is claimed of a resource at a second; what has no end lasts until now."""
        return [
            each
            for each in self.claims
            if each.number == number and each.start <= second < (1 if each.end is None else each.end)
        ]

    def kind(self, claim: Claim, second: int) -> str:
        """Return what a claim is at a second."""
        _, _, status, begin, end, closing = self.owners[claim.lease]
        if claim.tail:
            return claim.tail
        if second < begin:
            return "lead"
        if second >= end:
            return "grace"
        return "maintenance" if closing else "offer" if status == "OFFERED" else "lease"


def is_degraded(lease_id: str) -> bool:
    """Say how a random lease fares: its id is random."""
    return lease_id[0] < "4"


def is_at_risk(lease_id: str) -> bool:
    return lease_id[1] < "4"


def moment(second: int) -> datetime:
    return from_seconds(BASE + second)


def service_of(db: Database, cleaning: int) -> Service:
    base = Settings()
    settings = replace(base, leases=replace(base.leases, cleaning_time=timedelta(seconds=cleaning)))
    return Service(db, Calendars(), TYPES, sandbox(db.engine), settings, now=lambda: NOW)


def asked(
    service: Service, eyes: Eyes, start: int, end: int, types: tuple[str, ...] = (HOST, FLOATING_IP), **more: Any
) -> Timeline:
    found = timeline_of(service, eyes, TimelineQuestion(types, Window(moment(start), moment(end)), **more))
    assert isinstance(found, Timeline)
    return found


def painted(found: Timeline, row: int) -> Iterator[list[Shown]]:
    """Yield kind, lease and amount of the bars of a row at each second of the window."""
    begin, end = found.window.seconds
    mine = [bar for bar in found.bars if bar.row == row]
    for second in range(begin, end):
        yield ordered(
            (bar.kind.value, None if bar.lease is None else found.leases[bar.lease].id, bar.amount)
            for bar in mine
            if bar.start <= second < (BASE + 1 if bar.end is None else bar.end)
        )


def ordered(shown: Iterable[Shown]) -> list[Shown]:
    """Return what is shown of a second, in an order."""
    return sorted(shown, key=repr)


def taken(claims: list[Claim]) -> list[Shown]:
    """Return what is told of these claims of others."""
    if not claims:
        return []
    if any(each.amount is None for each in claims):
        return [("taken", None, None)]
    total: Counter[str] = Counter()
    for each in claims:
        total.update(dict(each.amount or ()))
    return [("taken", None, tuple(sorted(total.items())))]


@pytest.fixture(params=range(2))
def books(db: Database, request: pytest.FixtureRequest) -> Books:
    made = Books(Random(request.param))  # noqa: S311 - not for secrets
    db.transact(made.fill)
    return made


WINDOWS = ((-SPAN - 5, SPAN + 25), (-20, 0), (-3, 12), (5, 30), (0, 1))


def test_operators_see_every_claim_at_every_second(db: Database, books: Books) -> None:
    service = service_of(db, 3)
    for start, end in WINDOWS:
        found = asked(service, OPERATOR, start, end)
        by_name = {row.name: place for place, row in enumerate(found.rows)}
        for number, name in books.names.items():
            expected = [
                ordered((books.kind(each, second), each.lease, each.amount) for each in books.at(number, second))
                for second in range(start, end)
            ]
            if name not in by_name:
                assert number in books.removed
                assert not any(expected)
                continue
            assert list(painted(found, by_name[name])) == expected, (name, start, end)
        shown = {each.id: each for each in found.leases}
        for bar in found.bars:
            assert bar.lease is not None
            assert (
                max(bar.start, BASE + start) == bar.start < (BASE + end if bar.end is None else bar.end) <= BASE + end
            )
        assert {each.project_id for each in shown.values()} <= set(PROJECTS)
        for lease_id, each in shown.items():
            assert (each.degraded, each.at_risk) == (is_degraded(lease_id), is_at_risk(lease_id))


@pytest.mark.parametrize("cleaning", [0, 2])
@pytest.mark.parametrize("eyes", [MEMBER, LISTER], ids=["member", "lister"])
def test_members_see_their_own_claims_and_what_is_taken(db: Database, books: Books, eyes: Eyes, cleaning: int) -> None:
    service = service_of(db, cleaning)
    by_name = {name: number for number, name in books.names.items()}
    for start, end in WINDOWS:
        found = asked(service, eyes, start, end)
        for place, row in enumerate(found.rows):
            number = by_name[row.name] if row.name in by_name else books.marks[row.values["mark"]]
            assert list(painted(found, place)) == expected_of(books, number, start, end, cleaning, eyes), (row, start)
            bars = [bar for bar in found.bars if bar.row == place and bar.kind.value == "taken"]
            for one, other in itertools.pairwise(bars):
                last = BASE + 1 if one.end is None else one.end
                assert last < other.start or (last == other.start and one.amount != other.amount)
        visible = {number for number in books.names if number not in books.closed | books.shared | books.removed}
        with_mine = {
            number
            for number in books.names
            for second in range(start, end)
            for each in books.at(number, second)
            if books.owners[each.lease][0] == "mine"
        }
        everything = set(books.names) - books.removed if eyes is LISTER else visible
        assert len(found.rows) == len(everything | with_mine)
        assert {each.project_id for each in found.leases} <= {"mine"}


def expected_of(books: Books, number: int, start: int, end: int, cleaning: int, eyes: Eyes) -> list[Any]:
    """Return the picture of a row as a member sees it."""
    alone = number in books.removed or (eyes is MEMBER and number in books.closed | books.shared)
    mine: list[list[Shown]] = []
    others: list[list[Shown]] = []
    closed: list[list[Claim]] = []
    for second in range(start, end):
        claims = books.at(number, second)
        own = [each for each in claims if books.owners[each.lease][0] == "mine"]
        rest = [] if alone else [each for each in claims if each not in own]
        mine.append([(books.kind(each, second), each.lease, each.amount) for each in own])
        closed.append([each for each in rest if books.owners[each.lease][5]])
        others.append(taken([each for each in rest if not books.owners[each.lease][5]]))
    fill(others, 2 * cleaning)
    shut: list[list[Shown]] = [[("maintenance", None, None)] if each else [] for each in closed]
    fill(shut, 2 * cleaning)
    return [ordered([*one, *two, *three]) for one, two, three in zip(mine, others, shut, strict=True)]


def fill(states: list[list[Shown]], gap: int) -> None:
    """Take what is free between whole runs for no longer than `gap` seconds as taken."""
    wholes = [second for second, state in enumerate(states) if state and state[0][2] is None]
    for one, other in itertools.pairwise(wholes):
        between = states[one + 1 : other]
        if between and len(between) <= gap and not any(between):
            states[one + 1 : other] = [states[one]] * len(between)


def test_nothing_of_others_is_in_what_a_member_reads(db: Database, books: Books) -> None:
    service = service_of(db, 1)
    secret = [each.lease for each in books.claims if books.owners[each.lease][0] != "mine"]
    for start, end in WINDOWS:
        text = json.dumps(show_timeline(asked(service, MEMBER, start, end), MEMBER))
        assert SECRET not in text
        assert not [each for each in secret if each in text]
        text = json.dumps(show_timeline(asked(service, LISTER, start, end, (HOST,)), LISTER))
        for word in (f"{SECRET}-p1", f"{SECRET}-user", f"{SECRET}-lease", f"{SECRET}-serial", f"{SECRET} broken"):
            assert word not in text
    everything = json.dumps(show_timeline(asked(service, OPERATOR, -SPAN, SPAN), OPERATOR))
    for word in (f"{SECRET}-p1", f"{SECRET}-lease", f"{SECRET}-serial-0", f"{SECRET} broken"):
        assert word in everything


def test_pages_are_the_whole_in_parts(db: Database, books: Books) -> None:
    assert books
    service = service_of(db, 0)
    for eyes in (MEMBER, OPERATOR):
        whole = asked(service, eyes, -SPAN, SPAN)
        rows: list[TimelineRow] = []
        bars: list[Any] = []
        marker = None
        while True:
            part = asked(service, eyes, -SPAN, SPAN, limit=2, marker=marker)
            assert len(part.rows) <= 2
            bars += [(bar.row + len(rows), *bar[1:4], bar.amount) for bar in part.bars]
            rows += part.rows
            marker = part.next
            if marker is None:
                break
        assert rows == list(whole.rows)
        assert Counter(bars) == Counter((*bar[:4], bar.amount) for bar in whole.bars)


def drawn(found: Timeline) -> Counter[tuple[Any, ...]]:
    """Return the bars of leases, each with its lease: databases give what begins together in any order."""
    return Counter((*bar[:4], found.leases[bar.lease], *bar[5:]) for bar in found.bars if bar.lease is not None)


@pytest.mark.parametrize("eyes", [MEMBER, OPERATOR], ids=["member", "operator"])
def test_an_answer_said_to_be_unchanged_is_the_same_at_each_later_second(
    db: Database, books: Books, eyes: Eyes
) -> None:
    assert books
    clock = [BASE]
    service = replace(service_of(db, 0), now=lambda: from_seconds(clock[0]))
    for start, end in WINDOWS:
        clock[0] = BASE
        first = asked(service, eyes, start, end)
        before = first
        for later in range(1, end + 3):
            clock[0] = BASE + later
            question = TimelineQuestion((HOST, FLOATING_IP), Window(moment(start), moment(end)), known=before.tag)
            answer = timeline_of(service, eyes, question)
            whole = asked(service, eyes, start, end)
            if isinstance(answer, str):
                assert answer == before.tag
                # A run of others that lasts until now may have met the next one, which draws the same.
                assert drawn(whole) == drawn(before), (start, later)
                assert whole.rows == before.rows
            before = whole


def test_rows_that_are_kept_follow_every_change_of_the_pool(db: Database, books: Books) -> None:
    kept, dice = service_of(db, 0), Random(7)  # noqa: S311 - not for secrets
    hosts = [number for number in books.numbers[HOST] if number not in books.removed]
    for step in range(12):
        victim = dice.choice(hosts)
        db.transact(partial(change_row, dice, victim, step))
        assert asked(kept, OPERATOR, -SPAN, SPAN).rows == asked(service_of(db, 0), OPERATOR, -SPAN, SPAN).rows
    added = db.transact(partial(enrol_later, "late"))
    assert f"{SECRET}-late.example" in {row.name for row in asked(kept, OPERATOR, -SPAN, SPAN).rows}
    db.transact(partial(remove_row, added))
    assert f"{SECRET}-late.example" not in {row.name for row in asked(kept, OPERATOR, -SPAN, SPAN).rows}
    db.transact(restore_pool)
    assert asked(kept, OPERATOR, -SPAN, SPAN).rows == asked(service_of(db, 0), OPERATOR, -SPAN, SPAN).rows


def test_rows_of_a_pool_that_has_not_moved_are_not_read_again(db: Database, books: Books) -> None:
    assert books
    service = service_of(db, 0)
    asked(service, OPERATOR, 5, 30)
    with statements(db.engine) as said:
        asked(service, OPERATOR, 5, 30)
    assert [each for each in said if "resources.pool =" in each] == []


def test_an_answer_of_too_many_bars_is_refused_before_it_is_made(
    db: Database, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert books
    service = service_of(db, 0)
    monkeypatch.setattr("leasehold.features.timeline.use.MOST_BARS", 8)
    with pytest.raises(InvalidInputError, match="more than 8 bars") as refused:
        asked(service, MEMBER, -SPAN, SPAN)
    assert refused.value.field == "to"
    assert asked(service, MEMBER, SPAN + 20, SPAN + 25).bars == []


def change_row(dice: Random, number: int, step: int, connection: Connection) -> None:
    locked = move_pools(connection, [HOST_POOL])
    generation = locked[HOST_POOL] + 1
    put_properties(connection, number, {"rack": dice.choice(["r0", "r1", None]), f"step{step}": "x"})
    disabled = dice.random() < 0.5
    reason = f"reason {step}" if disabled else None
    update_resources(connection, [number], generation, disabled=disabled, disabled_reason=reason)


def enrol_later(name: str, connection: Connection) -> int:
    locked = move_pools(connection, [HOST_POOL])
    number = enrol(connection, f"{SECRET}-{name}")
    update_resources(connection, [number], locked[HOST_POOL] + 1)
    return number


def remove_row(number: int, connection: Connection) -> None:
    locked = move_pools(connection, [HOST_POOL])
    remove_resource(connection, number, locked[HOST_POOL] + 1, NOW)


def restore_pool(connection: Connection) -> None:
    """Do as a database that was restored: the pool is at a generation again that it had, by another decision."""
    connection.execute(update(resources).where(resources.c.disabled_reason.is_not(None)).values(disabled_reason="old"))
    fresh = {"generation": 3, "nonces": f"3:{new_nonce()}"}
    connection.execute(update(pools).where(pools.c.name == HOST_POOL).values(**fresh))
