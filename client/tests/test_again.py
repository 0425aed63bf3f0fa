"""`lease create --like`: the same as another lease, and what the options say instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from leasehold.cloud.sandbox import seed
from leasehold_client.again import again
from leasehold_client.errors import ClientError
from leasehold_client.lease import Reservation
from tests.processes import wait_for

if TYPE_CHECKING:
    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow

ENDING = "on_end=recycle,recycle_seconds=3600,no_show_seconds=7200"
PARTS = (
    f"resource_type=physical:host,min=1,max=2,resource_properties=gpu_count>=1,apart=rack,{ENDING}",
    "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=1,amount=2,affinity=True",
    "resource_type=flavor:instance,flavor_id=m1.small,amount=2",
    f"resource_type=virtual:floatingip,network_id={seed.NETWORK_ID},amount=2",
)
MADE = frozenset(
    {
        "id",
        "lease_id",
        "resource_id",
        "status",
        "created_at",
        "updated_at",
        "flavor_id",
        "server_group_id",
        "aggregate_id",
    }
)
"""What each reservation has of its own."""


def test_every_type_of_reservation_is_asked_for_again(inside: Inside, client: Client) -> None:
    words = [word for part in PARTS for word in ("--reservation", part)]
    inside.ok("lease", "create", "first", *words, "--from", "in 1 d", "--for", "3h")
    inside.ok("lease", "create", "second", "--like", "first", "--from", "in 8 d")
    first, second = (client.leases.find(name) for name in ("first", "second"))
    assert second.end - second.start == timedelta(hours=3)
    asked = [
        [{key: value for key, value in part.values.items() if key not in MADE} for part in lease.reservations]
        for lease in (first, second)
    ]
    assert len(asked[0]) == len(PARTS)
    assert asked[0] == asked[1]
    assert (asked[1][0]["apart"], asked[1][0]["recycle_seconds"], asked[1][0]["no_show_seconds"]) == (
        "rack",
        3600,
        7200,
    )


def test_of_a_lease_that_is_over_and_what_the_options_say_instead(inside: Inside, client: Client) -> None:
    lease = booked(client, "last week", timedelta(0), amount=2)
    wait_for(lambda: client.leases.get(lease.id).status == "ACTIVE")
    client.leases.change(lease.id, end=datetime.now(UTC) + timedelta(seconds=2))
    wait_for(lambda: client.leases.get(lease.id).status == "TERMINATED")
    inside.ok("lease", "create", "longer", "--like", "last week", "--for", "4h", "--from", "in 1 d")
    longer = client.leases.find("longer")
    assert (longer.end - longer.start, longer.reservations[0].values["max"]) == (timedelta(hours=4), 2)
    inside.ok("lease", "create", "smaller", "--like", "longer", "--hosts", "1", "--earliest", "--from", "in 2 d")
    smaller = client.leases.find("smaller")
    assert (smaller.end - smaller.start, smaller.reservations[0].values["max"]) == (timedelta(hours=4), 1)
    for option, value, message in (
        ("--like", "none-such", "There is no lease with the name or id 'none-such'"),
        ("--template", "any", "--like and --template both say what to lease."),
    ):
        refused = inside("lease", "create", "x", "--like", "longer", option, value)
        assert (refused.status, message in refused.err) == (1, True)


def test_no_end_is_asked_for_again(inside: Inside, client: Client) -> None:
    inside.ok("lease", "create", "for good", "--hosts", "1", "--open-ended")
    inside.ok("lease", "create", "another", "--like", "for good", "--from", "in 1 d")
    assert client.leases.find("another").open_ended
    inside.ok("lease", "create", "not for good", "--like", "for good", "--for", "1h")
    assert not client.leases.find("not for good").open_ended


def test_what_a_plugin_was_asked_for_is_not_known() -> None:
    with pytest.raises(ClientError, match="--reservation"):
        again(Reservation("1", "device", "active", {}))
