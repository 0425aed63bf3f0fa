"""Resources: enrolment, removal, and the changes since a generation; their properties, private or public."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.db.resources.property import PropertyValues, define_properties, list_properties, set_privacy
from leasehold.db.resources.resource import (
    changed_resources,
    closed_to,
    find_resource,
    list_resources,
    put_properties,
    remove_resource,
    resources_by_number,
    update_resources,
)
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST, HOST_POOL, Resource
from tests.db.examples import NOW, enrol, hour, statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Engine

    from leasehold.db.resources.property import PropertyDefinition
    from leasehold.db.store import Database


def properties_of(db: Database, number: int) -> dict[str, str]:
    with db.reading() as connection:
        return dict(resources_by_number(connection, [number])[number].properties)


def changed(db: Database, since: int, pool: str = HOST_POOL) -> list[str]:
    with db.reading() as connection:
        return [resource.id for resource in changed_resources(connection, pool, since)]


def define(db: Database, *names: str, resource_type: str = HOST) -> None:
    db.transact(lambda connection: define_properties(connection, resource_type, names, NOW))


def host(db: Database, name: str, **properties: str) -> int:
    """Define these properties, enrol a host with them, and return its number."""
    define(db, *properties)
    number = db.transact(partial(enrol, name=name))
    db.transact(lambda connection: put_properties(connection, number, properties))
    return number


def hide(db: Database, name: str, *, private: bool = True) -> PropertyDefinition | None:
    return db.transact(lambda connection: set_privacy(connection, HOST, name, hour(1), private=private))


def listed(db: Database, *, include_private: bool = False, resource_type: str = HOST) -> list[PropertyValues]:
    with db.reading() as connection:
        return list_properties(connection, resource_type, include_private=include_private)


def names(found: Iterable[PropertyValues]) -> list[str]:
    return [each.name for each in found]


def test_a_resource_comes_back_as_it_was_enrolled(db: Database) -> None:
    number = host(db, "cmp-1", gpu="True")
    with db.reading() as connection:
        assert find_resource(connection, HOST, "cmp-1") == Resource(
            number=number,
            id="cmp-1",
            type=HOST,
            pool=HOST_POOL,
            capacity={"VCPU": 16},
            max_unit={"VCPU": 8},
            attributes={"hypervisor_hostname": "cmp-1.example"},
            properties={"gpu": "True"},
            reference="cmp-1.example",
            traits=frozenset({"CUSTOM_FAST"}),
            created_at=NOW,
        )


def test_what_an_administrator_says_of_a_resource_is_kept_apart_from_its_health(db: Database) -> None:
    number = host(db, "cmp-1")
    flag = {"disabled": True, "disabled_reason": "é" * 255}
    db.transact(lambda connection: update_resources(connection, [number], 2, **flag))
    for admitted in (True, False, True):
        db.transact(partial(update_resources, numbers=[number], generation=3, reservable=admitted))
        with db.reading() as connection:
            found = find_resource(connection, HOST, "cmp-1")
        assert found is not None
        assert (found.admitted, found.disabled, found.disabled_reason) == (admitted, True, "é" * 255)
        assert (found.reservable, found.bookable, found.usable) == (False, False, admitted)


def test_the_projects_of_a_resource_come_back(db: Database) -> None:
    numbers = [host(db, name, rack=name) for name in ("one", "two", "all")]
    for number, projects in zip(numbers, (["é", "b"], ["a"], None), strict=True):
        db.transact(partial(update_resources, numbers=[number], generation=2, projects=projects))
    with db.reading() as connection:
        found = [each.projects for each in changed_resources(connection, HOST_POOL, 1)]
        closed = [closed_to(connection, HOST, each) for each in ("a", "b", "c")]
        listed = list_properties(connection, HOST, include_private=False, but=closed[2])
    assert found == [frozenset({"é", "b"}), frozenset({"a"}), None]
    assert closed == [[numbers[0]], [numbers[1]], numbers[:2]]
    assert [each.values for each in listed] == [("all",)]


def test_what_was_enrolled_without_the_flag_is_not_disabled(db: Database) -> None:
    db.transact(lambda connection: enrol(connection, "cmp-1"))
    with db.reading() as connection:
        found = find_resource(connection, HOST, "cmp-1")
    assert found is not None
    assert (found.disabled, found.disabled_reason, found.reservable) == (False, None, True)


@pytest.mark.parametrize("same", [{"reference": "other"}, {"id": "other"}])
def test_an_id_and_a_reference_are_enrolled_once(db: Database, same: dict[str, Any]) -> None:
    db.transact(partial(enrol, name="cmp-1"))
    with pytest.raises(IntegrityError):
        db.transact(lambda connection: enrol(connection, "cmp-1", **same))


def test_another_type_may_use_the_same_id(db: Database) -> None:
    db.transact(partial(enrol, name="cmp-1"))
    db.transact(lambda connection: enrol(connection, "cmp-1", type=FLOATING_IP, pool=FLOATING_IP_POOL))
    with db.reading() as connection:
        assert [len(list_resources(connection, kind)) for kind in (HOST, FLOATING_IP)] == [1, 1]


def test_a_removed_resource_can_be_enrolled_again_and_again_under_new_numbers(db: Database) -> None:
    numbers = []
    for _ in range(3):
        numbers.append(db.transact(partial(enrol, name="cmp-1")))
        db.transact(lambda connection: remove_resource(connection, numbers[-1], 2, NOW))
    assert sorted(set(numbers)) == numbers
    with db.reading() as connection:
        assert find_resource(connection, HOST, "cmp-1") is None
        gone = resources_by_number(connection, numbers)
    assert [gone[number].deleted_at for number in numbers] == [NOW] * 3
    assert not any(resource.bookable for resource in gone.values())


def test_changes_since_a_generation_include_removals_and_leave_out_the_rest(db: Database) -> None:
    first, second, _third = (db.transact(partial(enrol, name=name)) for name in ("a", "b", "c"))
    assert changed(db, -1) == ["a", "b", "c"]
    assert changed(db, 1) == []
    db.transact(lambda connection: update_resources(connection, [second], 2, reservable=False, updated_at=NOW))
    db.transact(lambda connection: remove_resource(connection, first, 3, NOW))
    assert changed(db, 1) == ["a", "b"]
    assert changed(db, 2) == ["a"]
    assert changed(db, 0, FLOATING_IP_POOL) == []


def test_changes_are_asked_for_in_two_statements_and_nothing_in_one(db: Database, engine: Engine) -> None:
    for name in "abc":
        host(db, name, gpu="1")
    with statements(engine) as asked:
        assert changed(db, 0) == ["a", "b", "c"]
    assert len(asked) == 2
    with statements(engine) as asked:
        assert changed(db, 1) == []
    assert len(asked) == 1


def test_setting_properties_replaces_those_named_and_leaves_the_others(db: Database) -> None:
    number = db.transact(enrol)
    db.transact(lambda connection: put_properties(connection, number, {"gpu": "1", "rack": "7"}))
    db.transact(lambda connection: put_properties(connection, number, {"gpu": "2", "ssd": "True"}))
    db.transact(lambda connection: put_properties(connection, number, {}))
    assert properties_of(db, number) == {"gpu": "2", "rack": "7", "ssd": "True"}


def test_names_and_values_of_properties_are_exact(db: Database) -> None:
    exactly = {"gpu": "a", "GPU": "A", "gpu ": "a ", "gpü": "ä", "gpu\u0301": "\U0001f600", " gpu": ""}
    number = host(db, "a", **exactly)
    host(db, "b", gpu="A")
    db.transact(lambda connection: put_properties(connection, number, {"gpu ": "b"}))
    assert properties_of(db, number) == {**exactly, "gpu ": "b"}
    values = {each.name: each.values for each in listed(db)}
    assert values == {name: (value,) for name, value in exactly.items()} | {"gpu": ("A", "a"), "gpu ": ("b",)}


def test_resources_are_listed_in_the_order_of_their_enrolment(db: Database) -> None:
    for name in ("b", "a", "c"):
        db.transact(partial(enrol, name=name))
    with db.reading() as connection:
        assert [resource.id for resource in list_resources(connection, HOST)] == ["b", "a", "c"]


def test_changing_columns_leaves_other_resources_alone(db: Database) -> None:
    first = db.transact(lambda connection: enrol(connection, "a"))
    second = db.transact(lambda connection: enrol(connection, "b"))
    db.transact(lambda connection: update_resources(connection, [first], 5, capacity={"VCPU": 4}, updated_at=hour(1)))
    with db.reading() as connection:
        found = resources_by_number(connection, [first, second])
        assert resources_by_number(connection, []) == {}
    assert (found[first].capacity, found[first].updated_at) == ({"VCPU": 4}, hour(1))
    assert (found[second].capacity, found[second].updated_at) == ({"VCPU": 16}, None)


# ---------------------------------------------------------------- property keys


def test_keys_are_listed_by_name_with_their_distinct_values(db: Database) -> None:
    host(db, "a", rack="7", gpu="b")
    host(db, "b", rack="7", gpu="a")
    assert listed(db) == [PropertyValues("gpu", False, ("a", "b")), PropertyValues("rack", False, ("7",))]


def test_defining_again_changes_nothing_and_defining_nothing_asks_nothing(db: Database, engine: Engine) -> None:
    host(db, "a", gpu="1")
    hide(db, "gpu")
    define(db, "gpu", "rack", "rack")
    assert listed(db, include_private=True) == [PropertyValues("gpu", True, ("1",))]
    with statements(engine) as asked:
        define(db)
    assert asked == []


def test_a_private_key_is_listed_only_for_who_may_see_it(db: Database) -> None:
    host(db, "a", gpu="1", rack="7")
    hidden = hide(db, "rack")
    assert hidden is not None
    assert (hidden.resource_type, hidden.name, hidden.private) == (HOST, "rack", True)
    assert (hidden.created_at, hidden.updated_at) == (NOW, hour(1))
    assert names(listed(db)) == ["gpu"]
    assert names(listed(db, include_private=True)) == ["gpu", "rack"]
    hide(db, "rack", private=False)
    assert names(listed(db)) == ["gpu", "rack"]


def test_there_is_nothing_to_hide_when_the_key_is_another_one(db: Database) -> None:
    host(db, "a", gpu="1")
    assert hide(db, "rack") is None
    assert names(listed(db)) == ["gpu"]


def test_a_key_that_only_removed_resources_have_is_not_listed(db: Database) -> None:
    number = host(db, "a", gpu="1")
    db.transact(lambda connection: remove_resource(connection, number, 2, NOW))
    assert listed(db) == []


def test_keys_of_another_type_are_another_matter(db: Database) -> None:
    host(db, "a", gpu="1")
    define(db, "gpu", resource_type=FLOATING_IP)
    address = db.transact(partial(enrol, name="f", type=FLOATING_IP, pool=FLOATING_IP_POOL))
    db.transact(lambda connection: put_properties(connection, address, {"gpu": "2"}))
    hide(db, "gpu")
    assert listed(db) == []
    assert listed(db, resource_type=FLOATING_IP) == [PropertyValues("gpu", False, ("2",))]
