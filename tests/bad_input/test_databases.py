"""Text that only some databases accept, in every field that reaches a database, never causes a 500."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from sqlalchemy import make_url

from leasehold.cmd.web import ROUTES
from tests.bad_input.conftest import Target, fill
from tests.bad_input.refusal import LEASES, PRICED, VALID, VERSION
from tests.bad_input.values import PLACES
from tests.factory import make_schema
from tests.v1.world import world_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falcon import testing

    from tests.bad_input.values import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXAMPLES = 2
"""The random texts for each field on one database; every database gets others."""
HALF_A_PAIR = "\ud800"
CONTROLS = ("\x00", "a\x00b", "\x1f", "\x7f", "\u0085", "\u2028")
HOSTILE = (*CONTROLS, HALF_A_PAIR, "a\udfffb", "\U0001f600", "\ufffe", "\uffff")
LENGTHS = (1, 81, 256, 5_000, 70_000)
pieces = st.sampled_from([*HOSTILE, "a", "'", '"', "\\", "%", "ß", "é"])
texts = st.lists(pieces, min_size=1, max_size=6).map("".join) | st.builds(
    lambda piece, length: piece * length, pieces, st.sampled_from(LENGTHS)
)


@pytest.fixture
def anywhere(database_url: str) -> Iterator[Target]:
    """Yield a filled service on each database."""
    make_schema(database_url)
    with world_at(database_url, settings=PRICED) as made:
        yield Target(made, fill(made), {})


def in_url(text: str) -> str:
    """Return the text percent-encoded for a URL; lone surrogates as UTF-8 bytes, as some encoders write them."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def in_paths(target: Target, text: str) -> Iterator[testing.Result]:
    """Send the text as every variable of every path."""
    for route in ROUTES:
        names = [name for name in target.places if f"{{{name}}}" in route.path]
        for name in names:
            path = route.path.replace(f"{{{name}}}", in_url(text))
            body = None if route.request is None else {"name": "n", "private": False, "properties": {"a": "b"}}
            yield target.ask(route.method, path, body)


def in_queries(target: Target, text: str) -> Iterator[testing.Result]:
    """Send the text as every key of a query."""
    for route in ROUTES:
        for key in (*route.query, *route.filters):
            headers = {VERSION: "reservation latest"}
            yield target.ask(route.method, route.path, query_string=f"{key}={in_url(text)}", headers=headers)


def in_headers(target: Target, text: str) -> Iterator[testing.Result]:
    value = text.encode("utf-8", "surrogatepass").decode("latin-1")
    for name in ("Idempotency-Key", "X-User-Id", "X-Project-Id", "X-Roles", "If-Match", "X-OpenStack-Request-ID"):
        yield target.ask("POST", LEASES, VALID, headers={name: value})


def in_bodies(target: Target, text: str) -> Iterator[testing.Result]:
    """Send the text in every field of every request, in lists and expressions there, and as a key beside them."""
    for place in PLACES:
        for body in bodies(place, text):
            yield target.ask(place.method, place.path, body)


def bodies(place: Place, text: str) -> Iterator[dict[str, Any]]:
    yield place.with_value(text)
    if isinstance(place.steps[-1], int):
        return
    if place.steps[-1].endswith("_properties"):
        for expression in (["==", f"${text}", "x"], ["<", f"${text}", "x"], ["==", "$id", text], ["<", "$id", text]):
            yield place.with_value(json.dumps(expression))
    else:
        yield place.with_value([text])
        yield place.with_value(text, key=text)
        yield place.with_value(None, key=text)


def test_no_text_is_a_server_error(anywhere: Target, database_url: str) -> None:
    @seed(crc32(make_url(database_url).get_backend_name().encode()))
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @example(text="a\x00b")
    @example(text=HALF_A_PAIR)
    @example(text="\U0001f600" * 300)
    @given(text=texts)
    def answers(text: str) -> None:
        for asked in (in_paths, in_queries, in_headers, in_bodies):
            for answer in asked(anywhere, text):
                assert answer.status_code < 500, (answer.status_code, answer.text[:300])

    answers()
