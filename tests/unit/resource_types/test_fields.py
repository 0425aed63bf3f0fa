"""Parsing of requests: the forms that v1 clients send, and errors that name the field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from leasehold.model.errors import InvalidInputError, MissingParameterError
from leasehold.resource_types.fields import MOST, Affinity, Amount, Identifier, RequestBody, Size, read


class Part(RequestBody):
    amount: Amount
    size: Size = 0


class Whole(RequestBody):
    name: Identifier
    affinity: Affinity
    part: Part
    parts: list[Part] = Field(default_factory=list)


def whole(**changes: Any) -> dict[str, Any]:
    return {"name": "a", "affinity": None, "part": {"amount": 1}, **changes}


def failure(**changes: Any) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        read(Whole, whole(**changes))
    assert caught.value.status == 400
    return caught.value


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"part": {"amount": 0}}, "part.amount"),
        ({"parts": [{"amount": 1}, {"amount": "two"}]}, "parts[1].amount"),
        ({"parts": [{"amount": 1, "size": -1}]}, "parts[0].size"),
        ({"parts": [7]}, "parts[0]"),
        ({"parts": 7}, "parts"),
    ],
)
def test_an_error_names_the_nested_path_of_the_value(changes: dict[str, Any], field: str) -> None:
    error = failure(**changes)
    assert error.field == field
    assert error.message.startswith(f"The value of {field} is not acceptable: ")


def test_all_missing_keys_are_named_at_once() -> None:
    with pytest.raises(MissingParameterError) as caught:
        read(Whole, {"part": {}, "parts": [{"amount": 1}, {}]})
    assert caught.value.message == "Missing parameter name, affinity"
    assert caught.value.field == "name"
    assert caught.value.details == {"missing": ["name", "affinity"]}


def test_a_missing_key_is_said_before_a_bad_value() -> None:
    with pytest.raises(MissingParameterError) as caught:
        read(Whole, {"name": "a", "affinity": "perhaps"})
    assert caught.value.details == {"missing": ["part"]}


def test_keys_that_the_type_does_not_know_are_ignored() -> None:
    assert "colour" not in read(Whole, whole(colour="red")).model_dump()


@pytest.mark.parametrize(("given", "read_as"), [(1, 1), ("1", 1), ("007", 7), (MOST, MOST), (str(MOST), MOST)])
def test_whole_numbers_may_come_as_text(given: object, read_as: int) -> None:
    assert read(Part, {"amount": given}).amount == read_as


NO_NUMBERS = ["", " 1", "1 ", "1.0", 1.0, "1e3", "+1", "--1", "-", "0x1", "1_0", "one", "٣", "9" * 5000]


@pytest.mark.parametrize("given", [*NO_NUMBERS, True, None, [], {}, 0, -1, "0", "-1", MOST + 1, str(MOST + 1), 10**30])
def test_amounts_are_whole_numbers_from_one_to_the_largest_integer_of_the_database(given: object) -> None:
    assert failure(part={"amount": given}).field == "part.amount"


@pytest.mark.parametrize(
    ("meaning", "spellings"),
    [
        (True, [True, "true", "True", " TRUE ", "yes", "y", "on", "t", "1", 1]),
        (False, [False, "false", "False", "no", "n", "off", "f", "0", 0]),
        (None, [None, "", "none", "None", "NULL", " "]),
    ],
)
def test_affinity_comes_in_many_spellings(*, meaning: bool | None, spellings: list[object]) -> None:
    for given in spellings:
        assert read(Whole, whole(affinity=given)).affinity is meaning


@pytest.mark.parametrize("given", ["maybe", 2, -1, 1.0, [], {}])
def test_affinity_that_says_something_else_is_refused(given: object) -> None:
    error = failure(affinity=given)
    assert error.field == "affinity"
    assert "true, false or none" in error.message


def test_ids_of_digits_come_as_numbers_from_the_command_line() -> None:
    assert read(Whole, whole(name=42)).name == "42"


@pytest.mark.parametrize("given", ["", "x" * 256, None, True, 1.5, ["a"]])
def test_ids_that_are_no_text_or_too_long_are_refused(given: object) -> None:
    assert failure(name=given).field == "name"
