"""Property expressions: the grammar, the meaning, and that the calendar agrees with the reference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.model.errors import MalformedExpressionError
from leasehold.model.properties import (
    ANYTHING,
    MAX_BYTES,
    MAX_COMPARISONS,
    MAX_DEPTH,
    And,
    Comparison,
    Expression,
    Not,
    Or,
    both,
    holds,
    matches,
    names,
    orderings,
    orders_numbers,
    parse,
)
from leasehold.model.resource import HOST_POOL, Resource
from leasehold.model.windows import from_seconds
from tests.unit.calendar.oracle import columns
from tests.unit.calendar.strategies import resource

FIELD = "hypervisor_properties"


def lacking(name: str) -> None:
    """Return the value (None) that a resource without properties has for any name."""


def nested(levels: int) -> str:
    return '["not", ' * (levels - 1) + '["==", "$a", "1"]' + "]" * (levels - 1)


def many(count: int) -> str:
    return json.dumps(["or", *[["==", "$a", "1"]] * count])


# ---------------------------------------------------------------- the grammar


@pytest.mark.parametrize("text", ["", "[]", " [ ] "])
def test_nothing_is_no_constraint(text: str) -> None:
    assert parse(text, FIELD) == ANYTHING
    assert matches(parse(text, FIELD), lacking)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ('["=", "$a", "1"]', Comparison("==", "a", ("1",))),
        ('["!=", "$a b", "1"]', Comparison("!=", "a b", ("1",))),
        ('["in", "$a", "1", "2"]', Comparison("in", "a", ("1", "2"))),
        ('["and", [">", "$a", "1"]]', And((Comparison(">", "a", ("1",)),))),
        (
            '["or", ["<", "$a", "1"], ["not", ["and", ["<=", "$b", "x"], [">=", "$c", "y"]]]]',
            Or(
                (
                    Comparison("<", "a", ("1",)),
                    Not(And((Comparison("<=", "b", ("x",)), Comparison(">=", "c", ("y",))))),
                )
            ),
        ),
    ],
)
def test_what_is_well_formed(text: str, expression: Expression) -> None:
    assert parse(text, FIELD) == expression


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "vcpus > 8",
        "null",
        "8",
        "true",
        "{}",
        '"text"',
        "[[]]",
        "[8]",
        '["and"]',
        '["or"]',
        '["and", []]',
        '["and", "x"]',
        '["not"]',
        '["not", ["==", "$a", "1"], ["==", "$a", "1"]]',
        '["==", "$a"]',
        '["==", "$a", "1", "2"]',
        '["in", "$a"]',
        '["in", "$a", "1", ""]',
        '["==", "$a", ""]',
        '["==", "$", "1"]',
        '["==", "a", "1"]',
        '[">=", "$vcpus", 8]',
        '["==", "$a", true]',
        '["==", "$a", null]',
        '["==", "$a", NaN]',
        '["in", "$a", ["1", "2"]]',
        '["like", "$a", "1"]',
        '["AND", ["==", "$a", "1"]]',
        '["==", "$a", "\\ud800"]',
        '["==", "$\\udfff", "1"]',
        "\ud800",
        '["==", "$a", "\ud800"]',
        "[" * 10_000,
        "[" * 5_000 + "]" * 5_000,
        '["==", "$a", ' + "9" * 5_000 + "]",
        nested(MAX_DEPTH + 1),
        many(MAX_COMPARISONS + 1),
        '["==", "$a", "' + "x" * MAX_BYTES + '"]',
        '["==", "$a", "' + "é" * (MAX_BYTES // 2) + '"]',
    ],
)
def test_what_is_malformed(text: str) -> None:
    with pytest.raises(MalformedExpressionError) as caught:
        parse(text, FIELD)
    assert caught.value.field == FIELD
    # The message must be encodable for the client, whatever the client sent.
    assert caught.value.message.encode()
    assert len(caught.value.message) < 400


def test_the_limits_themselves_are_allowed() -> None:
    assert names(parse(nested(MAX_DEPTH), FIELD)) == {"a"}
    assert names(parse(many(MAX_COMPARISONS), FIELD)) == {"a"}


def test_a_message_names_the_wrong_part_and_shows_a_right_one() -> None:
    with pytest.raises(MalformedExpressionError) as caught:
        parse('["and", ["==", "$a", "1"], [">=", "$vcpus", 8]]', FIELD)
    assert '[">=", "$vcpus", 8] must have texts only: write "8", not 8' in caught.value.message
    assert "Example" in caught.value.message


def test_names() -> None:
    text = '["or", ["==", "$a", "1"], ["not", ["and", ["in", "$b", "1"], ["==", "$a", "2"]]]]'
    assert names(parse(text, FIELD)) == {"a", "b"}
    assert names(ANYTHING) == frozenset()


def test_both_fields_have_to_hold() -> None:
    a, b = Comparison("==", "a", ("1",)), Comparison("==", "b", ("1",))
    assert both(ANYTHING, ANYTHING) == ANYTHING
    assert both(a, ANYTHING) == both(ANYTHING, a) == a
    assert not matches(both(a, b), {"a": "1", "b": "2"}.get)
    assert matches(both(a, b), {"a": "1", "b": "1"}.get)


# ---------------------------------------------------------------- the meaning


@pytest.mark.parametrize(
    ("value", "word", "literal", "answer"),
    [
        (24, ">=", "8", True),
        ("24", ">=", "8", True),
        ("10", "<", "9", False),
        ("9.5", "<", "10", True),
        ("1e1", "==", "10", True),
        (8, "==", "8", True),
        (8, "==", "8.0", True),
        ("8", "!=", "8.0", False),
        ("08", "==", "8", True),
        ("v10", "<", "v9", False),
        ("v10", "<", "9", False),
        ("2.9", "<", "2.10.0", True),
        ("2.10.1", ">", "2.9", True),
        ("1.0rc1", "<", "v1.0", True),
        ("8192", ">=", "64G", False),
        ("8192", "<", "64G", False),
        ("x10", "<", "x9", True),
        (True, "==", "True", True),
        (True, "==", "true", False),
        (True, "==", "1", False),
        ("nan", "==", "nan", True),
        ("nan", "<", "o", True),
        ("inf", ">", "9", True),
        ("1_0", "==", "10", False),
        ("\uff11\uff10", "==", "10", False),
        (" 8", "==", "8", False),
        ("1e999", "==", "1e998", False),
        (9_007_199_254_740_993, "==", "9007199254740992", False),
        ("", "==", "x", False),
        ("", "<", "x", True),
    ],
)
def test_one_comparison(value: object, word: str, literal: str, answer: bool) -> None:  # noqa: FBT001 - what is expected
    assert holds(Comparison(word, "a", (literal,)), value) is answer


@pytest.mark.parametrize(
    ("name", "literal", "number"),
    [
        *(("memory_mb", size, "65536") for size in ("64G", "64GiB", "64 gb", "0.0625T", "67108864K")),
        *(("local_gb", size, number) for size, number in (("1.5TiB", "1536"), ("512M", "0.5"))),
        *((name, "64G", "64G") for name in ("vcpus", "rack_b", "mb", "_b", "notes_db")),
        *(("memory_mb", text, text) for text in ("64", "64E", "G", "-1G", "1e3G", "9" * 16 + "G", "64Gi B")),
    ],
)
def test_a_size_is_a_number_of_the_unit_that_ends_the_name(name: str, literal: str, number: str) -> None:
    text = json.dumps(["in", f"${name}", literal])
    assert parse(text, FIELD) == Comparison("in", name, (number,))
    if literal == number:
        assert parse(text, FIELD, sizes=False)
        return
    with pytest.raises(MalformedExpressionError, match="has a unit, which needs"):
        parse(text, FIELD, sizes=False)


@pytest.mark.parametrize(
    ("values", "literal", "refused"),
    [
        (["8192", "65536"], "x", True),
        (["8192", "65536"], "64G", True),
        (["8192", "65536"], "64.0.1", True),
        (["22.04", "24.04"], "22.04.1", False),
        (["22.04", "24.04"], "jammy", True),
        (["8192", "many"], "x", False),
        ([], "x", False),
    ],
)
def test_numbers_alone_are_ordered_by_numbers(values: list[str], literal: str, refused: bool) -> None:  # noqa: FBT001 - what is expected
    expression = Not(
        And((Comparison("<", "a", (literal,)), Comparison("<", "a", ("1",)), Comparison("==", "a", ("x",))))
    )
    (ordering,) = orderings(expression)
    assert orders_numbers(ordering, values) is refused


@pytest.mark.parametrize("word", ["==", "!=", "<", "<=", ">", ">=", "in"])
def test_what_a_resource_lacks_never_matches(word: str) -> None:
    comparison = Comparison(word, "a", ("1",))
    assert not matches(comparison, lacking)
    assert matches(Not(comparison), lacking)


def test_null_means_without_a_value() -> None:
    assert holds(Comparison("==", "status", ("null",)), None)
    assert holds(Comparison("in", "status", ("up", "null")), None)
    assert not holds(Comparison("!=", "status", ("null",)), None)
    assert holds(Comparison("!=", "status", ("null",)), "up")
    assert not holds(Comparison("<", "status", ("null",)), None)


def test_in_is_any_of() -> None:
    comparison = Comparison("in", "a", ("1", "x"))
    assert [holds(comparison, value) for value in ("1", 1.0, "x", "y")] == [True, True, True, False]


# ---------------------------------------------------------------- the calendar agrees

texts = (
    "0",
    "1",
    "1.0",
    "8",
    "10",
    "9",
    "1e1",
    "True",
    "null",
    "nan",
    "up",
    "v9",
    "v10",
    "1.0.1",
    "1.0rc1",
    "-1",
    ".5",
)
literals = st.sampled_from(texts)
values: st.SearchStrategy[Any] = st.one_of(literals, st.integers(-1, 10), st.booleans(), st.none(), st.floats())
keys = st.sampled_from(["a", "b", "c", "d"])
comparisons = st.one_of(
    st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), keys, st.tuples(literals)),
    st.builds(Comparison, st.just("in"), keys, st.lists(literals, min_size=1, max_size=3).map(tuple)),
)


def combined(part: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(part, min_size=1, max_size=3).map(tuple)
    return st.one_of(st.builds(And, parts), st.builds(Or, parts), st.builds(Not, part))


expressions: st.SearchStrategy[Expression] = st.recursive(comparisons, combined, max_leaves=6)


def as_tree(expression: Expression) -> list[Any]:
    match expression:
        case Comparison():
            return [expression.operator, f"${expression.name}", *expression.values]
        case Not():
            return ["not", as_tree(expression.part)]
        case And():
            return ["and", *map(as_tree, expression.parts)]
        case Or():
            return ["or", *map(as_tree, expression.parts)]


@given(expressions)
def test_what_is_written_is_what_is_read(expression: Expression) -> None:
    assert parse(json.dumps(as_tree(expression)), FIELD) == expression


@st.composite
def resources(draw: st.DrawFn) -> list[Resource]:
    return [
        resource(
            number,
            attributes=draw(st.dictionaries(keys, values, max_size=3)),
            properties=draw(st.dictionaries(keys, literals, max_size=3)),
        )
        for number in draw(st.lists(st.integers(1, 9), min_size=1, max_size=6, unique=True))
    ]


NOTHING = columns(())


@pytest.mark.slow
@given(resources(), resources(), st.lists(expressions, min_size=1, max_size=3))
def test_the_calendar_matches_as_the_reference_does(
    first: list[Resource], second: list[Resource], wanted: list[Expression]
) -> None:
    calendar = Calendar(HOST_POOL)
    latest: dict[int, Resource] = {}
    # The second chunk replaces and inserts resources after the answers for the first chunk were cached.
    for chunk in (first, second):
        calendar.update(1, chunk, NOTHING)
        latest |= {resource.number: resource for resource in chunk}
        snapshot = calendar.snapshot(from_seconds(0))
        for expression in wanted * 2:
            expected = [matches(expression, latest[number].values.get) for number in sorted(latest)]
            assert snapshot.eligible.matching(expression).tolist() == expected
        assert snapshot.eligible.known_names() == {name for resource in latest.values() for name in resource.values}


def test_values_that_are_gone_are_forgotten() -> None:
    calendar = Calendar(HOST_POOL)
    host = resource(1)
    for moment in range(500):
        calendar.update(moment, [resource(1, attributes={"updated_at": moment})], NOTHING)
    snapshot = calendar.snapshot(from_seconds(0))
    assert snapshot.eligible.matching(Comparison("==", "updated_at", ("499",))).all()
    assert not snapshot.eligible.matching(Comparison("<", "updated_at", ("499",))).any()
    calendar.update(500, [host], NOTHING)
    assert snapshot.eligible.known_names() == set(host.values)
    snapshot = calendar.snapshot(from_seconds(0))
    assert not any(snapshot.eligible.matching(Comparison("==", "updated_at", (str(n),))).any() for n in range(600))
