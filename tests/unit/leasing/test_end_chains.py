"""Features E6, E7: several actions before an end, in a fixed order, each with a time limit (decision 0069)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from leasehold.api.versions import V1_3
from leasehold.cloud.ports import COMPLETE
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.tables import servers, snapshots
from leasehold.resource_types.end_actions import image_results, shelve, suspend
from tests.factory import dies_at, flavors, hosts, instances, make_service, run_for, run_until
from tests.mishaps import take_to_upload
from tests.selection import part_of_product
from tests.unit.leasing.looking import findings, in_database
from tests.unit.leasing.showing import show_reservation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOUR = 3600
IMAGE, SUSPEND, SHELVE = timedelta(minutes=20), timedelta(minutes=10), timedelta(minutes=30)
LIMITS: dict[str, Any] = {"snapshot": IMAGE, "suspend": SUSPEND, "shelve": SHELVE}
AT_ONCE = timedelta(seconds=10)
RECYCLE: dict[str, Any] = {"on_end": "recycle", "recycle_seconds": 2 * HOUR}
SUSPENDING: dict[str, Any] = {"before_end": ["snapshot", "suspend"]}
SHELVING: dict[str, Any] = {"before_end": ["shelve", "snapshot"]}
CHAINS = [
    hosts(**SUSPENDING, **RECYCLE),
    instances(2, **SUSPENDING, **RECYCLE),
    flavors(2, **SUSPENDING, **RECYCLE),
    hosts(**SUSPENDING, on_end="give_back"),
    hosts(**SHELVING),
]
NAMES = ["hosts", "instances", "flavors", "given back", "shelved"]
BY_NAME = dict(zip(NAMES, CHAINS, strict=True))


@pytest.fixture
def world(world: World) -> World:
    """Return the world with a manager that waits for each action in its own time."""
    return world.with_end_waits(**LIMITS)


def there(world: World) -> dict[str, str]:
    """Return the status of each server by name."""
    return {each.name: each.status for each in world.cloud.servers.all() if each.status != "DELETING"}


def results(world: World, lease: Lease) -> dict[str, dict[str, tuple[str, str | None]]]:
    """Return the status and the reason of each result by action and name, as owners see them."""
    seen: Any = show_reservation(world.part(lease), world.service.types, V1_3)
    return {
        action: {each["server_name"]: (each["status"], each["reason"]) for each in seen[action]}
        for action in ("images", "suspended", "shelved")
        if seen[action]
    }


def check_over(world: World, lease: Lease) -> None:
    """Check that the lease has ended completely, and that nothing of it is left."""
    assert world.status(lease) == "TERMINATED"
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None
    assert not [each.what for each in (*in_database(world), *findings(world))]


def check_done(world: World, lease: Lease, asked: Mapping[str, Any]) -> None:
    """Check that the one server of a lease was copied, and then suspended or shelved."""
    second, status = ("shelved", "SHELVED_OFFLOADED") if "shelve" in asked["before_end"] else ("suspended", "SUSPENDED")
    assert there(world) == {"server": status}
    assert results(world, lease) == {"images": {"server": ("done", None)}, second: {"server": ("done", None)}}
    (image,) = world.cloud.images.of_reservation(lease.reservations[0].id)
    assert (image.status, image.project_id) == (COMPLETE, lease.project_id)


# ------------------------------------------------------------ the order


@pytest.mark.parametrize("asked", CHAINS, ids=NAMES)
def test_each_server_is_copied_and_then_suspended_or_shelved(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=3)
    world.boot(lease)
    run_until(world, world.hour(2.9))
    assert (there(world), results(world, lease)) == ({"server": "ACTIVE"}, {"images": {"server": ("done", None)}})
    run_until(world, world.hour(3.1))
    check_done(world, lease, asked)
    run_until(world, world.hour(5.1))
    assert world.status(lease) == "TERMINATED"
    assert ("server" in there(world)) == (asked.get("on_end") != "recycle")


@pytest.mark.parametrize("asked", CHAINS, ids=NAMES)
def test_a_server_is_left_alone_while_its_image_is_uploaded_and_others_go_on(
    world: World, asked: Mapping[str, Any]
) -> None:
    lease = world.active(asked, end=3)
    quick = world.boot(lease, name="quick")
    world.boot(lease, name="slow")
    take_to_upload(world.cloud, HOUR * 1.2)
    run_until(world, world.hour(2.1))
    copied = update(snapshots).where(snapshots.c.server_id == quick.id)
    world.execute(copied.values(ready_at=world.now()))
    run_until(world, world.hour(3.1))
    last = "SHELVED_OFFLOADED" if "shelve" in asked["before_end"] else "SUSPENDED"
    assert there(world) == {"quick": last, "slow": "ACTIVE"}
    run_until(world, world.hour(3.25))
    assert there(world) == {"quick": last, "slow": last}


# ------------------------------------------------------------ the limits


def test_a_late_image_delays_the_suspension_no_longer_than_its_own_time(world: World) -> None:
    lease = world.active(hosts(**SUSPENDING, **RECYCLE), end=3)
    world.boot(lease)
    take_to_upload(world.cloud, 24 * HOUR)
    run_until(world, world.hour(3) + IMAGE - AT_ONCE)
    assert there(world) == {"server": "ACTIVE"}
    run_until(world, world.hour(3) + IMAGE + AT_ONCE)
    assert there(world) == {"server": "SUSPENDED"}
    run_until(world, world.hour(5) + IMAGE - AT_ONCE)
    assert there(world) == {"server": "SUSPENDED"}
    run_until(world, world.hour(5) + IMAGE + AT_ONCE)
    assert results(world, lease) == {
        "images": {"server": ("failed", image_results.LATE)},
        "suspended": {"server": ("done", None)},
    }
    assert there(world) == {}
    check_over(world, lease)


def test_a_late_image_delays_shelving_and_nothing_is_lost_by_it(world: World) -> None:
    lease = world.active(hosts(**SHELVING), end=3)
    world.boot(lease)
    take_to_upload(world.cloud, 24 * HOUR)
    run_until(world, world.hour(3) + IMAGE - AT_ONCE)
    assert there(world) == {"server": "ACTIVE"}
    run_until(world, world.hour(3) + IMAGE + 2 * AT_ONCE)
    assert there(world) == {"server": "SHELVED_OFFLOADED"}
    run_until(world, world.hour(4))
    late = {"images": {"server": ("failed", image_results.LATE)}, "shelved": {"server": ("done", None)}}
    assert results(world, lease) == late
    assert "without 1 of the images of its servers" in world.reason(lease)
    check_over(world, lease)


def test_what_is_neither_copied_nor_shelved_in_the_time_of_both_is_deleted_and_said(world: World) -> None:
    lease = world.active(hosts(**SHELVING), end=3)
    world.boot(lease)
    take_to_upload(world.cloud, 24 * HOUR)
    world.cloud.servers.take_to("shelve", 24 * HOUR)
    run_until(world, world.hour(3) + IMAGE + SHELVE - AT_ONCE)
    assert there(world) == {"server": "SHELVING"}
    run_until(world, world.hour(3) + IMAGE + SHELVE + AT_ONCE)
    assert there(world) == {}
    assert results(world, lease) == {
        "images": {"server": ("failed", image_results.LATE)},
        "shelved": {"server": ("failed", shelve.LATE)},
    }
    said = "without 1 of the images of its servers and 1 of the servers that it was to shelve"
    assert said in world.reason(lease)
    check_over(world, lease)


def test_a_server_in_error_does_not_end_the_wait_for_the_images_of_others(world: World) -> None:
    lease = world.active(hosts(**SHELVING), end=3)
    for name in ("broken", "well"):
        world.boot(lease, name=name)
    world.execute(update(servers).where(servers.c.name == "broken").values(status="ERROR"))
    run_until(world, world.hour(1.9))
    take_to_upload(world.cloud, HOUR + 600)
    run_until(world, world.hour(3.1))
    assert there(world) == {"well": "ACTIVE"}
    run_until(world, world.hour(3.3))
    assert there(world) == {"well": "SHELVED_OFFLOADED"}
    assert results(world, lease)["images"]["well"] == ("done", None)
    assert results(world, lease)["shelved"] == {"broken": ("failed", shelve.NOT_SHELVED), "well": ("done", None)}


def test_what_is_suspended_late_lives_on_as_long_as_others(world: World) -> None:
    lease = world.active(hosts(**SUSPENDING, **RECYCLE), end=3)
    world.boot(lease)
    take_to_upload(world.cloud, 24 * HOUR)
    world.cloud.servers.take_to("suspend", 24 * HOUR)
    run_until(world, world.hour(3) + IMAGE + SUSPEND - AT_ONCE)
    assert results(world, lease)["suspended"] == {"server": ("waiting", None)}
    run_until(world, world.hour(3) + IMAGE + SUSPEND + AT_ONCE)
    assert results(world, lease)["suspended"] == {"server": ("failed", suspend.LATE)}
    assert there(world) == {"server": "SUSPENDING"}
    run_until(world, world.hour(5) + IMAGE + AT_ONCE)
    assert there(world) == {}
    check_over(world, lease)


class Pace(NamedTuple):
    """How long each action takes in the cloud, in minutes."""

    image: int
    suspend: int
    shelve: int


MINUTES = st.sampled_from([0, 1, 9, 25, 45, 600])


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked=st.sampled_from(CHAINS), pace=st.builds(Pace, MINUTES, MINUTES, MINUTES), extra=st.booleans())
def test_no_end_is_later_than_its_limits_and_every_server_has_every_result(
    asked: Mapping[str, Any], pace: Pace, *, extra: bool
) -> None:
    with TemporaryDirectory() as folder, make_service(Path(folder), hosts=("cmp-01",)) as made:
        check_limits(made.with_end_waits(**LIMITS), asked, pace, extra=extra)


def check_limits(world: World, asked: Mapping[str, Any], pace: Pace, *, extra: bool) -> None:
    lease = world.active(asked, end=3)
    world.boot(lease)
    take_to_upload(world.cloud, pace.image * 60)
    world.cloud.servers.take_to("suspend", pace.suspend * 60)
    world.cloud.servers.take_to("shelve", pace.shelve * 60)
    if extra:
        run_until(world, world.hour(2.99))
        world.boot(lease, name="extra")
    second, limit = ("shelved", SHELVE) if "shelve" in asked["before_end"] else ("suspended", SUSPEND)
    tail = timedelta(hours=2) if asked.get("on_end") == "recycle" else timedelta()
    run_until(world, world.hour(3) + tail + IMAGE + (timedelta() if tail else limit) + 2 * AT_ONCE)
    assert world.status(lease) == "TERMINATED"
    found = results(world, lease)
    assert found.keys() == {"images", second}
    assert {status for each in found.values() for status, _reason in each.values()} <= {"done", "failed"}
    assert found[second].keys() == {"server", *(["extra"] if extra else [])}
    kept = {name for name, (status, _reason) in found[second].items() if status == "done"}
    if second == "shelved":
        assert there(world) == dict.fromkeys(kept, "SHELVED_OFFLOADED")
    elif tail:
        assert there(world) == {}
    else:
        assert there(world).keys() == found[second].keys()
        assert {name for name, status in there(world).items() if status == "SUSPENDED"} == kept


# ------------------------------------------------------------ failures


@pytest.mark.parametrize(("chain", "error"), part_of_product(NAMES, ["before", "after", "half", "reset"]))
def test_each_action_is_tried_again_when_a_call_fails(world: World, chain: str, error: Any) -> None:
    asked = BY_NAME[chain]
    lease = world.active(asked, end=3)
    world.boot(lease)
    run_until(world, world.hour(1.9))
    for verb in ("images.snapshot", "images.hand_over", "servers.suspend", "servers.shelve", "servers.offload"):
        world.cloud.faults.set(Fault(verb, error=error, remaining=1))
    run_until(world, world.hour(3.3))
    check_done(world, lease, asked)


@pytest.mark.parametrize(
    ("chain", "number"), part_of_product(["hosts", "instances", "given back", "shelved"], range(1, 16))
)
def test_nothing_is_done_twice_or_left_out_when_a_manager_dies(world: World, chain: str, number: int) -> None:
    asked = BY_NAME[chain]
    lease = world.active(asked, end=3)
    world.boot(lease)
    run_until(world, world.hour(2.9))

    dies_at(world, number, lambda: run_until(world, world.hour(3.05)))
    run_until(world, world.hour(3.4))
    check_done(world, lease, asked)


@pytest.mark.parametrize("asked", CHAINS, ids=NAMES)
def test_whoever_deletes_a_lease_waits_for_what_is_being_copied_only(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=3)
    world.boot(lease)
    take_to_upload(world.cloud, HOUR)
    run_until(world, world.hour(2.9))
    world.delete(lease)
    run_for(world, minutes=3)
    assert there(world) == {"server": "ACTIVE"}
    run_for(world, minutes=30)
    assert there(world) == {}
    assert not world.exists(lease)
