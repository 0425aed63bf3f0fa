"""`--properties`: conditions as people write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.properties import matches, parse
from leasehold_client.cli.reading.conditions import join_conditions, read_condition
from leasehold_client.cli.reading.pairs import BadPairsError

WORDS = st.text("abcxyz019._-", min_size=1, max_size=8)
ORDERS = st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">="])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memory_mb>=65536", [">=", "$memory_mb", "65536"]),
        (" $vcpus > 8 ", [">", "$vcpus", "8"]),
        ("arch==x86_64", ["==", "$arch", "x86_64"]),
        ("cpu_info='a = \"b\"'", ["==", "$cpu_info", 'a = "b"']),
        ("gpu=true", ["in", "$gpu", "true", "True"]),
        ("gpu!=FALSE", ["and", ["!=", "$gpu", "false"], ["!=", "$gpu", "False"]]),
        ("gpu='true'", ["==", "$gpu", "true"]),
        ('name=""', ["==", "$name", ""]),
        ("rack in a1, 'b 2'", ["in", "$rack", "a1", "b 2"]),
        ('["in", "$rack", "a1"]', ["in", "$rack", "a1"]),
        ("", None),
        ("[]", []),
    ],
)
def test_a_condition(text: str, expected: list[Any] | None) -> None:
    assert read_condition(text) == expected


@pytest.mark.parametrize(
    "text", ["gpu", "memory_mb", "=3", "gpu=", "gpu='x", 'gpu=x"', "[1,", "rack in ", "a b=c", "<>"]
)
def test_what_is_no_condition_says_what_is_one(text: str) -> None:
    with pytest.raises(BadPairsError) as caught:
        read_condition(text)
    assert "Write one such as 'gpu=true', 'memory_mb>=65536' or 'rack in a1,a2'" in str(caught.value)


def test_several_hold_together() -> None:
    assert join_conditions([]) == join_conditions([None]) == ""
    assert join_conditions([[]]) == join_conditions([None, []]) == "[]"
    assert json.loads(join_conditions([["=", "$a", "b"]])) == ["=", "$a", "b"]
    assert json.loads(join_conditions([["=", "$a", "b"], [], ["<", "$c", "4"]])) == [
        "and",
        ["=", "$a", "b"],
        ["<", "$c", "4"],
    ]


@given(st.lists(st.tuples(WORDS, ORDERS, WORDS), max_size=4), st.dictionaries(WORDS, WORDS))
def test_the_service_reads_it_as_it_was_meant(conditions: list[tuple[str, str, str]], values: dict[str, str]) -> None:
    """Each condition alone decides as its list in JSON would, and all of them decide as `and`."""
    plain = join_conditions([read_condition("".join(each)) for each in conditions])
    lists = [[operator, f"${name}", value] for name, operator, value in conditions]
    expected = all(matches(parse(json.dumps(each), "p"), values.get) for each in lists)
    assert matches(parse(plain, "p"), values.get) == expected
