"""Property keys: defined once, private or public, listed with the values of the enrolled resources."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.property import PropertyValues, define_properties, list_properties, set_privacy
from leasehold.db.resource import put_properties, remove_resource
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST
from tests.db.examples import NOW, enrol, hour, statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Engine

    from leasehold.db.property import PropertyDefinition
    from leasehold.db.store import Database


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
    assert [hide(db, name) for name in ("rack", "GPU", "gpu ")] == [None, None, None]
    assert names(listed(db)) == ["gpu"]


def test_keys_and_values_are_exact(db: Database) -> None:
    host(db, "a", **{"gpu": "a", "GPU": "a", "gpu ": "a"})
    host(db, "b", gpu="A")
    host(db, "c", gpu="a ")
    hide(db, "gpu ")
    assert listed(db, include_private=True) == [
        PropertyValues("GPU", False, ("a",)),
        PropertyValues("gpu", False, ("A", "a", "a ")),
        PropertyValues("gpu ", True, ("a",)),
    ]


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
