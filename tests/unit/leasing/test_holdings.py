"""Feature J7: what a lease has, of any resource type, and what of it a caller may know (decision 0049)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, update

from leasehold.db.tables import property_definitions, resource_properties, resources
from leasehold.leasing.reading.holding import list_holdings
from leasehold.leasing.sight import check_names
from leasehold.model.caller import EVERYTHING, Sight
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST
from tests.counts.meter import Meter
from tests.factory import floating_ips, hosts, instances
from tests.unit.leasing.badges import BADGE, BADGES, BadgeKind, badges, with_badges, with_types, without

if TYPE_CHECKING:
    from leasehold.leasing.reading.holding import AllocatedResource
    from leasehold.model.lease import Lease
    from tests.factory import World

MEMBER = Sight(hosts=False, private=False)
LISTER = Sight(hosts=True, private=False)
ATTRIBUTES = {"name": "gold-1", "colour": "gold"}
PROPERTIES = {"wing": "east", "code": "1234"}


class OpenKind(BadgeKind):
    """Badges that everybody may tell apart."""

    public = True


class SerialKind(BadgeKind):
    """Badges whose colour identifies them."""

    identifying = frozenset({"name", "colour"})


@pytest.fixture
def site(world: World) -> World:
    """Return a world with a badge that has attributes, a public property and a private one."""
    made = with_badges(world, 1)
    made.execute(update(resources).where(resources.c.type == BADGE).values(attributes=ATTRIBUTES))
    with made.service.db.reading() as connection:
        number = connection.execute(resources.select().where(resources.c.type == BADGE)).one().number
    values = [{"resource_number": number, "name": name, "value": value} for name, value in PROPERTIES.items()]
    made.execute(insert(resource_properties).values(values))
    for resource_type, name in ((BADGE, "code"), (BADGE, "wing"), (HOST, "wing")):
        # A name that is private for another type hides nothing here.
        private = (resource_type, name) != (BADGE, "wing")
        row: dict[str, Any] = {"id": resource_type + name, "resource_type": resource_type, "name": name}
        made.execute(insert(property_definitions).values(**row, private=private, created_at=made.now()))
    return made


def seen(world: World, lease: Lease, sight: Sight) -> AllocatedResource:
    (found,) = list_holdings(world.service, world.get(lease), sight)[lease.reservations[0].id]
    return found


def test_a_plugins_resources_are_shown_without_a_line_of_the_plugin(site: World) -> None:
    lease = site.lease(badges())
    for sight, named, attributes, properties in (
        (MEMBER, False, {"colour": "gold"}, {"wing": "east"}),
        (LISTER, True, ATTRIBUTES, {"wing": "east"}),
        (EVERYTHING, True, ATTRIBUTES, PROPERTIES),
    ):
        shown = seen(site, lease, sight)
        assert (shown.named, shown.attributes, shown.properties) == (named, attributes, properties)


def test_a_plugin_says_what_identifies_its_resources_and_whether_that_matters(site: World) -> None:
    lease = site.lease(badges())
    for kind, named, attributes in ((SerialKind(), False, {}), (OpenKind(), True, ATTRIBUTES)):
        other = with_types(site, {**site.service.types.by_name, BADGE: replace(BADGES, kind=kind)})
        shown = seen(other, lease, MEMBER)
        assert (shown.named, shown.attributes, shown.properties) == (named, attributes, {"wing": "east"})


def test_an_expression_may_name_what_everybody_may_tell_apart() -> None:
    asked = {"resource_properties": frozenset({"name"})}
    check_names(MEMBER, OpenKind(), asked)
    with pytest.raises(InvalidInputError, match="identifies a badge"):
        check_names(MEMBER, BadgeKind(), asked)


def test_without_its_plugin_nothing_says_what_identifies_a_resource(site: World) -> None:
    lease = site.lease(badges())
    gone = without(site, BADGE)
    assert (seen(gone, lease, MEMBER).named, seen(gone, lease, MEMBER).attributes) == (False, {})
    assert seen(gone, lease, EVERYTHING).attributes == ATTRIBUTES


def test_more_resources_take_no_more_statements(world: World) -> None:
    meter = Meter(world.engine)
    small = world.get(world.lease(hosts(1), start=0, end=1))
    large = world.get(world.lease(hosts(3), instances(4), floating_ips(5), start=2, end=3))
    none = world.get(world.lease(start=2, end=3))
    for sight, most in ((MEMBER, 2), (EVERYTHING, 1)):
        for lease, expected in ((small, most), (large, most), (none, 0)):
            cost = meter.of(partial(list_holdings, world.service, lease, sight))
            assert cost["statements"] == expected
