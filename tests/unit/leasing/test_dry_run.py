"""A dry run answers exactly what the request then does, and leaves no trace (idea 5)."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.leasing.amend import amend_lease, try_amendment
from leasehold.leasing.create import create_lease, try_creation
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import LeaseholdError, LimitExceededError
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import DEMO, floating_ips, hosts, instances, run_until
from tests.stateful.audit import dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

ROUNDS = 25


def facts(lease: Lease) -> tuple[Any, ...]:
    """Return all that does not differ between two leases that are made one after the other."""
    return (
        lease.name,
        lease.window,
        lease.status,
        lease.status_reason,
        [(event.type, event.time, event.status) for event in lease.events],
        [
            (part.resource_type, part.request, [(each.pick, each.window) for each in part.allocations])
            for part in lease.reservations
        ],
    )


def outcome(work: Callable[[], Lease]) -> tuple[Any, ...]:
    try:
        return facts(work())
    except LeaseholdError as error:
        return type(error), error.code, error.field, error.message, error.details


def any_part(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        [
            hosts(rng.randint(1, 3), 3),
            instances(rng.randint(1, 30), rng.randint(1, 4), affinity=rng.choice([None, True, False])),
            floating_ips(rng.randint(1, 4)),
            hosts(1, resource_properties='["==", "$gpu", "1"]'),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_dry_run_says_what_the_request_does(world: World, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a reproducible choice, no secret.
    made: list[Lease] = []
    attempts: tuple[Callable[[], Lease], Callable[[], Lease]]
    for number in range(ROUNDS):
        start = rng.randint(1, 8)
        if made and rng.random() < 0.4:
            lease = rng.choice(made)
            part = lease.reservations[0]
            grown = {"id": part.id, "min": 1, "max": rng.randint(1, 4)} if "min" in part.request else None
            changes = LeaseChanges(
                name=f"changed {number}",
                end=world.hour(start + rng.randint(1, 4)),
                reservations=None if grown is None else (grown,),
            )
            attempts = (
                partial(try_amendment, world.service, lease.id, changes),
                partial(_amended, world, lease, changes),
            )
        else:
            parts = tuple(any_part(rng) for _ in range(rng.randint(1, 2)))
            kind = rng.choice([LeaseType.SCHEDULED, LeaseType.SCHEDULED, LeaseType.WAITLIST])
            deadline = world.hour(20) if kind is LeaseType.WAITLIST else None
            hours = world.hour(start), world.hour(start + rng.randint(1, 4))
            draft = LeaseDraft(f"lease {number}", *hours, reservations=parts, type=kind, deadline=deadline)
            attempts = partial(try_creation, world.service, DEMO, draft), partial(_made, world, draft, made)
        before = dump(world.engine)
        expected = outcome(attempts[0])
        assert dump(world.engine) == before
        assert outcome(attempts[1]) == expected
    assert made


def _amended(world: World, lease: Lease, changes: LeaseChanges) -> Lease:
    return get_lease(world.service, amend_lease(world.service, lease.id, changes).id)


def _made(world: World, draft: LeaseDraft, made: list[Lease]) -> Lease:
    lease = get_lease(world.service, create_lease(world.service, DEMO, draft).id)
    if lease.status is LeaseStatus.PENDING:
        made.append(lease)
    return lease


def test_the_limits_are_checked_and_not_used_up(world: World) -> None:
    world = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 2})))
    draft = LeaseDraft("l", world.hour(1), world.hour(2), reservations=(hosts(2),))
    for _ in range(3):
        assert try_creation(world.service, DEMO, draft).status is LeaseStatus.PENDING
    with pytest.raises(LimitExceededError):
        try_creation(world.service, DEMO, replace(draft, reservations=(hosts(3),)))
    assert world.lease(hosts(2), start=1, end=2)


def test_an_active_lease_is_tried_as_well(world: World) -> None:
    lease = world.lease(hosts(1), start=0, end=2)
    run_until(world, world.hour(0.5))
    before = dump(world.engine)
    part = {"id": lease.reservations[0].id, "min": 3, "max": 3}
    tried = try_amendment(world.service, lease.id, LeaseChanges(reservations=(part,)))
    assert len(tried.reservations[0].allocations) == 3
    assert dump(world.engine) == before
    assert try_amendment(world.service, lease.id, LeaseChanges()) == get_lease(world.service, lease.id)
