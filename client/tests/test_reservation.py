"""How a person names a reservation of a lease, and gets a server into it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from leasehold_client.cli.output.shown import boots
from leasehold_client.errors import NotFoundError
from leasehold_client.lease import Lease, Reservation

NOW = datetime(2031, 5, 1, tzinfo=UTC)
TYPES = ("physical:host", "virtual:instance", "flavor:instance")


def lease() -> Lease:
    parts = tuple(Reservation(f"id-{place}", kind, "pending", {}) for place, kind in enumerate(TYPES))
    return Lease("x", "mine", "PENDING", None, False, "p", NOW, NOW, False, (), parts, {})


@pytest.mark.parametrize(
    ("word", "place"), [("id-1", 1), ("1", 0), ("3", 2), ("host", 0), ("physical:host", 0), ("flavor:instance", 2)]
)
def test_by_id_number_and_type(word: str, place: int) -> None:
    assert lease().reservation(word).id == f"id-{place}"


@pytest.mark.parametrize(
    ("word", "what"),
    [("instance", "has 2 reservations of 'instance'"), ("4", "has no reservation '4'"), ("", "has no reservation ''")],
)
def test_what_is_not_one_is_said_with_the_numbers(word: str, what: str) -> None:
    numbers = "1 (physical:host), 2 (virtual:instance), 3 (flavor:instance)"
    with pytest.raises(NotFoundError) as caught:
        lease().reservation(word)
    assert str(caught.value) == f"The lease mine {what}. Name one by its number: {numbers}."


CREATE, REST = "openstack server create", "--image IMAGE --network NETWORK NAME"
GROUPED = {"flavor_id": "r", "server_group_id": "g"}
REAL, SANDBOX = "52f0493d71ad430dbc867c0772488417", "demo"


@pytest.mark.parametrize(
    ("project", "kind", "values", "command"),
    [
        (
            SANDBOX,
            "physical:host",
            {},
            "leasehold-manage sandbox boot --project demo --flavor FLAVOR --reservation r NAME",
        ),
        (SANDBOX, "virtual:instance", GROUPED, "leasehold-manage sandbox boot --project demo --flavor r NAME"),
        (REAL, "physical:host", {}, f"{CREATE} --flavor FLAVOR --hint reservation=r {REST}"),
        (REAL, "virtual:instance", GROUPED, f"{CREATE} --flavor r --hint group=g {REST}"),
        (REAL, "flavor:instance", {"flavor_id": "r"}, f"{CREATE} --flavor r {REST}"),
    ],
)
def test_what_is_active_says_how_a_server_is_booted_in_it(
    project: str, kind: str, values: dict[str, str], command: str
) -> None:
    whole, later = Reservation("r", kind, "active", values), Reservation("q", kind, "pending", values)
    parts = (whole, later, Reservation("a", "virtual:floatingip", "active", {}))
    assert boots(Lease("x", "mine", "ACTIVE", None, False, project, NOW, NOW, False, (), parts, {})) == [command]
