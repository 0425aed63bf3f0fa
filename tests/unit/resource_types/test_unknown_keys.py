"""What counts as an unknown key: derived from the shape, at any depth."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from leasehold.model.errors import UnknownKeysError
from leasehold.resource_types.unknown_keys import refuse_unknown
from tests.unit.leasing.badges import BadgeKind


class Leaf(BaseModel):
    size: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    leaf: Leaf | None = None


class Tree(BaseModel):
    name: str | None
    leaf: Annotated[Leaf | None, Field(description="one")] = None
    leaves: list[Leaf] | None = None
    by_name: dict[str, Leaf] = {}
    either: Leaf | Open | str = ""
    open: Open | None = None
    anything: Any = None


KNOWN: list[Any] = [
    {},
    {"name": 7, "leaf": {"size": "no number"}},
    {"leaves": [{"size": 1}, None, 7, "x", [{"other": 1}]]},
    {"leaves": "no list", "by_name": [{"other": 1}], "leaf": [], "open": "x"},
    {"by_name": {"any": {"size": 1}}, "either": {"other": 1}, "open": {"other": {"deep": 1}}},
    {"anything": {"other": [{"deep": 1}]}, "either": "text"},
    [{"other": 1}],
    None,
]
UNKNOWN: list[tuple[Any, list[str], list[str]]] = [
    ({"other": 1}, ["other"], sorted(Tree.model_fields)),
    ({"leaf": {"size": 1, "other": 1}}, ["leaf.other"], ["size"]),
    ({"leaves": [{"size": 1}, {"a": 1}], "b": 2}, ["b", "leaves[1].a"], sorted(Tree.model_fields)),
    ({"by_name": {"x": {"a": 1}}}, ["by_name.x.a"], ["size"]),
    ({"open": {"leaf": {"a": 1}}}, ["open.leaf.a"], ["size"]),
    ({str(number): 1 for number in range(9)}, list("01234"), sorted(Tree.model_fields)),
    ({"k" * 99: 1}, ["k" * 64], sorted(Tree.model_fields)),
]


@pytest.mark.parametrize("value", KNOWN, ids=str)
def test_what_a_shape_reads_or_leaves_open_is_known(value: Any) -> None:
    refuse_unknown(Tree, value)


@pytest.mark.parametrize(("value", "unknown", "known"), UNKNOWN, ids=str)
def test_the_error_names_what_is_unknown_and_what_is_known_there(
    value: Any, unknown: list[str], known: list[str]
) -> None:
    with pytest.raises(UnknownKeysError) as caught:
        refuse_unknown(Tree, value)
    assert caught.value.details == {"unknown": unknown, "known": known}
    assert caught.value.field == unknown[0]
    assert all(repr(name) in caught.value.message for name in unknown)


def test_further_keys_may_be_known_and_the_place_is_part_of_the_name() -> None:
    refuse_unknown(Leaf, {"id": 1, "size": 1}, ("parts", 3), ["id"])
    with pytest.raises(UnknownKeysError, match=r"'parts\[3\]\.colour'.* are: id, size\."):
        refuse_unknown(Leaf, {"id": 1, "colour": 1}, ("parts", 3), ["id"])


def test_a_kind_gets_only_the_keys_of_its_schema() -> None:
    """So no kind, also not of a plugin, can read a key that its schema does not name."""
    named = dict.fromkeys(BadgeKind.schema.model_fields, 1)
    assert BadgeKind().asked({**named, "id": "x", "resource_type": "x", "colour": "red"}) == named
