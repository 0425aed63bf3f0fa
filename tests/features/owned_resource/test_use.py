"""Feature I1: a resource belongs to a project, which leases it without asking, and sees and ends leases on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.features.owned_resource.use import end_lease, list_owned
from leasehold.model.errors import ConflictError, NotEnoughError, NotFoundError
from leasehold.model.event_log import ResourceNews
from leasehold.model.resource import NOT_SAID, Restriction
from tests.factory import ALT, DEMO, OPERATOR, hosts, instances, run_for, run_manager

if TYPE_CHECKING:
    from tests.factory import World

OTHERS = ("cmp-02", "cmp-06", "cmp-07", "gpu-03")


def uses(world: World, project: str | None = "demo") -> dict[str, list[str]]:
    """Return which leases use the resources of a project, by the names of these."""
    return {each.resource.label: [use.lease_id for use in each.uses] for each in list_owned(world.service, project)}


def test_an_owner_alone_leases_it_and_whom_its_projects_name(world: World) -> None:
    world.give("demo", "cmp-01")
    assert set(world.holds(world.lease(hosts(5), start=1, end=2, caller=DEMO))) == {"cmp-01", *OTHERS}
    for caller in (ALT, OPERATOR):
        with pytest.raises(NotEnoughError, match=r"4 enrolled"):
            world.lease(hosts(5), start=3, end=4, caller=caller)
    world.give("demo", "cmp-01", projects=["alt"])
    assert len(world.holds(world.lease(hosts(5), start=3, end=4, caller=ALT))) == 5
    assert len(world.holds(world.lease(hosts(5), start=4, end=5, caller=DEMO))) == 5


@pytest.mark.parametrize(
    ("said", "owner", "projects"),
    [
        (Restriction(), "demo", {"demo", "alt"}),
        (Restriction(frozenset({"third"})), "demo", {"demo", "third"}),
        (Restriction(None), "demo", {"demo"}),
        (Restriction(owner="third"), "third", {"third", "alt"}),
        (Restriction(owner=None), None, {"alt"}),
        (Restriction(None, None), None, None),
        (Restriction(frozenset({"demo"}), "alt"), "alt", {"demo", "alt"}),
    ],
)
def test_an_owner_is_always_among_the_projects(
    world: World, said: Restriction, owner: str | None, projects: set[str] | None
) -> None:
    before = Restriction(frozenset({"alt"}), "demo").applied(world.host("cmp-01"))
    after = said.applied(before)
    assert (after.owner, after.projects) == (owner, projects)
    assert said.columns(before) == {"owner": owner, "projects": None if projects is None else sorted(projects)}
    assert Restriction(NOT_SAID, owner).applied(after) == after


def test_an_owner_sees_who_leases_what_is_its_own(world: World) -> None:
    world.give("demo", "cmp-01", "cmp-02", projects=["alt"])
    world.restrict(["nobody"], *OTHERS[1:])
    theirs = world.active(hosts(1), end=2, caller=ALT)
    later = world.lease(instances(1), start=3, end=4, caller=ALT)
    gone = world.lease(hosts(2), start=5, end=6, caller=ALT)
    offered = world.lease(hosts(2), start=7, end=8, caller=ALT, hold=world.hour(1) - world.now())
    world.delete(gone)
    assert uses(world) == {"cmp-01": [theirs.id, later.id], "cmp-02": []}
    (use, _) = list_owned(world.service, "demo")[0].uses
    assert (use.project_id, use.status, use.window) == ("alt", "ACTIVE", theirs.window)
    assert uses(world, "alt") == {}
    assert uses(world, None) == uses(world)
    assert offered.offered_until is not None
    run_for(world, hours=3)
    assert uses(world) == {"cmp-01": [later.id], "cmp-02": []}


def test_an_owner_ends_a_lease_that_has_only_its_own(world: World) -> None:
    world.give("demo", "cmp-01", projects=["alt"])
    active = world.active(hosts(1), end=2, caller=ALT)
    pending = world.lease(hosts(1), start=3, end=4, caller=ALT)
    mixed = world.lease(hosts(2), start=5, end=6, caller=ALT)
    foreign = world.lease(hosts(1, resource_properties='["==", "$id", "2"]'), start=7, end=8, caller=ALT)
    for lease in (active, pending):
        for stranger in ("alt", "third"):
            with pytest.raises(NotFoundError):
                end_lease(world.service, stranger, lease.id)
        end_lease(world.service, "demo", lease.id)
    run_manager(world)
    assert not world.exists(active)
    assert not world.exists(pending)
    with pytest.raises(ConflictError, match="resources of others"):
        end_lease(world.service, "demo", mixed.id)
    with pytest.raises(NotFoundError):
        end_lease(world.service, "demo", foreign.id)
    with pytest.raises(NotFoundError):
        end_lease(world.service, "demo", "none-such")
    assert world.exists(mixed)
    assert world.exists(foreign)


def test_an_owner_ends_no_lease_that_has_lent_what_others_own(world: World) -> None:
    world.give("demo", "cmp-01", projects=["alt", "third"])
    lease = world.active(hosts(2), end=4, caller=ALT)
    child = world.lend(lease, "cmp-02", end=2, to="third")
    run_for(world, minutes=1)
    assert world.holds(lease) == {"cmp-01": 1}
    with pytest.raises(ConflictError, match="resources of others"):
        end_lease(world.service, "demo", lease.id)
    assert world.exists(lease)
    world.delete(child)
    run_for(world, minutes=5)
    child = world.lend(lease, "cmp-01", end=2, to="third")
    run_for(world, minutes=1)
    end_lease(world.service, "demo", child.id)
    run_for(world, minutes=5)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}


def test_an_owner_does_not_end_maintenance(world: World) -> None:
    world.give("demo", "cmp-01")
    window = world.maintain("cmp-01", start=1, end=2)
    with pytest.raises(ConflictError, match="operator"):
        end_lease(world.service, "demo", window.id)
    assert uses(world) == {"cmp-01": [window.id]}


def test_a_change_of_owner_is_an_event(world: World) -> None:
    world.give("demo", "cmp-01")
    query = select(outbox.c.payload).where(outbox.c.event_type == ResourceNews.CHANGED)
    with world.service.db.reading() as connection:
        (payload,) = connection.execute(query).scalars()
    assert (payload["owner"], payload["projects"]) == ("demo", ["demo"])


def test_a_former_owner_ends_nothing(world: World) -> None:
    world.give("demo", "cmp-01")
    lease = world.lease(hosts(5), start=1, end=2)
    assert uses(world) == {"cmp-01": [lease.id]}
    world.give("alt", "cmp-01")
    assert uses(world) == {}
    with pytest.raises(NotFoundError):
        end_lease(world.service, "demo", lease.id)
    assert len(world.holds(world.amend(lease, end=3))) == 5
