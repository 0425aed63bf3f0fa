"""Property keys: defined once, hidden or shown, listed with the values that enrolled resources have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.books.property import PropertyValues, define_properties, list_properties, set_privacy
from leasehold.books.resource import put_properties, remove_resource
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST
from tests.books.examples import NOW, enrol, hour, statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Engine

    from leasehold.books.property import PropertyDefinition
    from leasehold.books.store import Books


def define(books: Books, *names: str, resource_type: str = HOST) -> None:
    books.transact(lambda connection: define_properties(connection, resource_type, names, NOW))


def host(books: Books, name: str, **properties: str) -> int:
    """Enrol a host with these properties, which are defined first, and return its number."""
    define(books, *properties)
    number = books.transact(partial(enrol, name=name))
    books.transact(lambda connection: put_properties(connection, number, properties))
    return number


def hide(books: Books, name: str, *, private: bool = True) -> PropertyDefinition | None:
    return books.transact(lambda connection: set_privacy(connection, HOST, name, hour(1), private=private))


def listed(books: Books, *, include_private: bool = False, resource_type: str = HOST) -> list[PropertyValues]:
    with books.reading() as connection:
        return list_properties(connection, resource_type, include_private=include_private)


def names(found: Iterable[PropertyValues]) -> list[str]:
    return [each.name for each in found]


def test_keys_are_listed_by_name_with_their_distinct_values(books: Books) -> None:
    host(books, "a", rack="7", gpu="b")
    host(books, "b", rack="7", gpu="a")
    assert listed(books) == [PropertyValues("gpu", False, ("a", "b")), PropertyValues("rack", False, ("7",))]


def test_defining_again_changes_nothing_and_defining_nothing_asks_nothing(books: Books, engine: Engine) -> None:
    host(books, "a", gpu="1")
    hide(books, "gpu")
    define(books, "gpu", "rack", "rack")
    assert listed(books, include_private=True) == [PropertyValues("gpu", True, ("1",))]
    with statements(engine) as asked:
        define(books)
    assert asked == []


def test_a_private_key_is_listed_only_for_who_may_see_it(books: Books) -> None:
    host(books, "a", gpu="1", rack="7")
    hidden = hide(books, "rack")
    assert hidden is not None
    assert (hidden.resource_type, hidden.name, hidden.private) == (HOST, "rack", True)
    assert (hidden.created_at, hidden.updated_at) == (NOW, hour(1))
    assert names(listed(books)) == ["gpu"]
    assert names(listed(books, include_private=True)) == ["gpu", "rack"]
    hide(books, "rack", private=False)
    assert names(listed(books)) == ["gpu", "rack"]


def test_there_is_nothing_to_hide_when_the_key_is_another_one(books: Books) -> None:
    host(books, "a", gpu="1")
    assert [hide(books, name) for name in ("rack", "GPU", "gpu ")] == [None, None, None]
    assert names(listed(books)) == ["gpu"]


def test_keys_and_values_are_exact(books: Books) -> None:
    host(books, "a", **{"gpu": "a", "GPU": "a", "gpu ": "a"})
    host(books, "b", gpu="A")
    host(books, "c", gpu="a ")
    hide(books, "gpu ")
    assert listed(books, include_private=True) == [
        PropertyValues("GPU", False, ("a",)),
        PropertyValues("gpu", False, ("A", "a", "a ")),
        PropertyValues("gpu ", True, ("a",)),
    ]


def test_a_key_that_only_removed_resources_have_is_not_listed(books: Books) -> None:
    number = host(books, "a", gpu="1")
    books.transact(lambda connection: remove_resource(connection, number, 2, NOW))
    assert listed(books) == []


def test_keys_of_another_type_are_another_matter(books: Books) -> None:
    host(books, "a", gpu="1")
    define(books, "gpu", resource_type=FLOATING_IP)
    address = books.transact(partial(enrol, name="f", type=FLOATING_IP, pool=FLOATING_IP_POOL))
    books.transact(lambda connection: put_properties(connection, address, {"gpu": "2"}))
    hide(books, "gpu")
    assert listed(books) == []
    assert listed(books, resource_type=FLOATING_IP) == [PropertyValues("gpu", False, ("2",))]
