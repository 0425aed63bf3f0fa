"""Answers are written as Python's own writer would write them, in ASCII and without blanks."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.json_bytes import as_json
from leasehold.model.states import LeaseStatus

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(LeaseStatus)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_the_bytes_are_those_of_pythons_writer(value: Any) -> None:
    assert as_json(value) == json.dumps(value, separators=(",", ":")).encode("ascii")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floating_numbers_are_read_as_the_same(value: float) -> None:
    assert math.isclose(json.loads(as_json(value)), value, rel_tol=0.0, abs_tol=0.0)


@pytest.mark.parametrize("value", ["ü", "\x7f", "\ud800", 2**64, -(2**70), {1: 2}])
def test_what_only_pythons_writer_can_write_is_left_to_it(value: Any) -> None:
    assert as_json(value) == json.dumps(value).replace(": ", ":").encode("ascii")
