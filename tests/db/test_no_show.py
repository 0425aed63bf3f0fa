"""What is known of a no-show is kept with its reservation: on every database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.model.terms.no_show import NoShow
from tests.db.examples import NOW, lease, reservation, write

if TYPE_CHECKING:
    from leasehold.db.store import Database

LATER = NOW + timedelta(microseconds=7)
STATES = (
    None,
    NoShow(timedelta(0), since=NOW),
    NoShow(timedelta(seconds=300)),
    NoShow(timedelta(days=400), since=NOW, warned_at=LATER),
    NoShow(timedelta(seconds=900), None, LATER, frozenset({3, 2**40}), done=True),
)


@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize("then", STATES)
def test_a_no_show_is_read_as_it_was_written(db: Database, first: NoShow | None, then: NoShow | None) -> None:
    owner = lease()
    part = reservation(owner.id, no_show=first)
    made = db.transact(lambda connection: write(connection, id=owner.id, reservations=(part,), events=()))
    with db.reading() as connection:
        found = find_lease(connection, made.id)
    assert found is not None
    assert found.reservations[0].no_show == first
    changed = replace(found, reservations=(replace(found.reservations[0], no_show=then),))
    db.transact(lambda connection: save_lease(connection, found, changed, NOW))
    with db.reading() as connection:
        read = find_lease(connection, made.id)
    assert read is not None
    assert read.reservations[0].no_show == then
    assert read.generation == found.generation + (first != then)
