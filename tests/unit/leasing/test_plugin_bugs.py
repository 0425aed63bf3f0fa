"""A plugin that raises where its contract allows only CloudError: no other type loses its health check or its audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.audit.repair import remove_leftovers
from leasehold.manager.monitor import check_once
from leasehold.resource_types.registry import ResourceType
from tests.factory import hosts, run_manager
from tests.unit.leasing.badges import BADGE, BadgeDriver, BadgeKind, with_badges, with_types
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from tests.factory import World


def _raise(*_args: Any) -> Any:
    message = "a bug"
    raise RuntimeError(message)


class Raising(BadgeDriver):
    """Raises in everything that the core asks about resources."""

    reports: Any = _raise
    audit: Any = _raise
    objects: Any = _raise


@pytest.fixture
def buggy(world: World) -> World:
    world = with_badges(world)
    return with_types(world, {**world.service.types.by_name, BADGE: ResourceType(BadgeKind(), Raising())})


def test_hosts_are_still_watched_and_healed(buggy: World) -> None:
    lease = buggy.lease(hosts(), start=0, end=2)
    run_manager(buggy)
    (host,) = buggy.holds(lease)
    buggy.cloud.hypervisors.fail(host)
    check_once(buggy.service)
    (other,) = buggy.holds(lease)
    assert other != host


def test_hosts_are_still_audited_and_the_plugin_is_named(buggy: World) -> None:
    buggy.cloud.aggregates.remove_host("freepool", "cmp-01")
    found = {each.kind.value: each for each in findings(buggy)}
    assert found.keys() == {"place", "plugin"}
    assert BADGE in found["plugin"].what
    assert found["plugin"].mend is None


def test_leftovers_of_the_other_types_are_still_removed(buggy: World) -> None:
    lease = buggy.lease(hosts(), start=0, end=2)
    run_manager(buggy)
    buggy.delete(lease)
    run_manager(buggy)
    part = lease.reservations[0].id
    buggy.cloud.aggregates.ensure(part, None, {buggy.service.settings.cloud.owner_key: "demo"})
    assert remove_leftovers(buggy.service, part) == f"Removed: aggregate {part}."
