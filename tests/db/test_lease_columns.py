"""The lists of columns have every field of a lease, of its reservations and of its events."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from leasehold.db.columns.facts import read_facts, written_facts
from leasehold.db.columns.lease_columns import EVENT, LEASE, RESERVATION, Field
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation


@pytest.mark.parametrize(
    ("kind", "columns", "elsewhere"),
    [
        (Lease, LEASE, {"window", "reservations", "events"}),
        (Reservation, RESERVATION, {"allocations", *read_facts({})} - {"cloud"}),
        (Event, EVENT, set()),
    ],
)
def test_each_field_is_written_and_read(kind: type, columns: tuple[Field, ...], elsewhere: set[str]) -> None:
    assert {each.name for each in fields(kind)} - elsewhere <= {each.name for each in columns if each.read}


def test_facts_of_the_cloud_and_decisions_of_the_owner_share_a_column() -> None:
    part = Reservation("r", "l", "physical:host", "", {}, cloud={"aggregate_id": 7})
    assert written_facts(part) == {"aggregate_id": 7}
    shares = {"alt": True, "third": None}
    decided = replace(part, dropped=True, shares=shares)
    assert written_facts(decided) == {"aggregate_id": 7, "dropped": True, "shares": shares}
    assert replace(part, **read_facts(written_facts(decided))) == decided
    assert replace(part, **read_facts(written_facts(part))) == part
