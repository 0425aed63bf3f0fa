"""The lists of columns have every field of a lease, of its reservations and of its events, and every column."""

from __future__ import annotations

from dataclasses import fields

import pytest

from leasehold.db.lease_columns import EVENT, LEASE, RESERVATION, Field
from leasehold.db.tables import events, leases, reservations
from leasehold.model.lease import Event, Lease
from leasehold.model.reservation import Reservation


@pytest.mark.parametrize(
    ("kind", "columns", "elsewhere"),
    [
        (Lease, LEASE, {"window", "reservations", "events"}),
        (Reservation, RESERVATION, {"allocations"}),
        (Event, EVENT, set()),
    ],
)
def test_each_field_is_written_and_read(kind: type, columns: tuple[Field, ...], elsewhere: set[str]) -> None:
    assert {each.name for each in fields(kind)} - elsewhere <= {each.name for each in columns if each.read}


def test_each_column_is_written_or_computed() -> None:
    for table, columns in ((leases, LEASE), (reservations, RESERVATION), (events, EVENT)):
        assert {each.name for each in table.c if each.computed is None} == {each.name for each in columns}
