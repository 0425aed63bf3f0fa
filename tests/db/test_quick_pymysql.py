"""What PyMySQL makes of values with our options is what it makes of them by itself."""

from __future__ import annotations

import ssl
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.connections import Connection, MySQLResult
from pymysql.constants.SERVER_STATUS import SERVER_STATUS_NO_BACKSLASH_ESCAPES
from pymysql.cursors import Cursor, SSCursor
from pymysql.err import OperationalError, ProgrammingError
from sqlalchemy import make_url

from leasehold.db import quick_pymysql
from leasehold.db.quick_pymysql import CONVERSIONS, QuickConnection

if TYPE_CHECKING:
    from collections.abc import Iterator


class Status(StrEnum):
    """A text of a class of its own."""

    PENDING = "it's"


OURS: Any = QuickConnection(defer_connect=True)
PLAIN: Any = Connection(defer_connect=True, cursorclass=Cursor)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.binary(),
    st.datetimes(),
    st.sampled_from(Status),
    st.lists(st.text(), min_size=1),
)


@pytest.mark.parametrize("status", [0, SERVER_STATUS_NO_BACKSLASH_ESCAPES])
@given(values=st.lists(VALUES, max_size=9))
def test_values_become_the_text_that_the_driver_makes_of_them(status: int, values: list[Any]) -> None:
    query = ", ".join(["%s", "'%%s'"] * len(values))
    for each in (OURS, PLAIN):
        each.server_status = status
    assert OURS.cursor()._mogrify(query, tuple(values)) == PLAIN.cursor()._mogrify(query, tuple(values))
    named = {f"v{number}": value for number, value in enumerate(values)}
    query = "".join(f"%({name})s %%" for name in reversed(named))
    assert OURS.cursor()._mogrify(query, named) == PLAIN.cursor()._mogrify(query, named)


@pytest.fixture
def both(mariadb_url: str) -> Iterator[tuple[Any, Any]]:
    """Yield a connection of ours, and one of the driver that reads dates as ours does."""
    url = make_url(mariadb_url)
    where: dict[str, Any] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "database": url.database,
        "charset": "utf8mb4",
    }
    with QuickConnection(**where) as ours, Connection(**where, conv=CONVERSIONS) as plain:
        yield ours, plain


SELECTS = [
    "SELECT NULL, '', 'a', 'it''s', '\U0001f680', 1, -1, 1.5, 1e300, 0x00ff, b'101', true",
    "SELECT REPEAT('a', 250), REPEAT('b', 251), REPEAT('c', 65535), REPEAT('d', 65536), 'e'",
    "SELECT REPEAT('a', 17000000), 'b'",
    "SELECT CAST('2026-12-01 02:03:04.000005' AS DATETIME(6)), CAST('2026-12-01' AS DATE), CAST('11:12' AS TIME)",
    "SELECT CAST(NULL AS DATETIME), CAST('0000-00-00' AS DATE), CAST(12.50 AS DECIMAL(9, 2)), JSON_OBJECT('a', 1)",
    "SELECT seq, seq / 7, REPEAT('x', seq MOD 300), NULLIF(seq MOD 3, 0) FROM seq_1_to_2000",
    "SELECT 1 AS a, 2 AS a, 3 AS b WHERE 1 = 0",
    "SET @a = 1",
    "BEGIN NOT ATOMIC SELECT 1; SELECT 'two', NULL; END",
]


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("cursor", [None, SSCursor])
def test_results_are_those_of_the_driver(both: tuple[Any, Any], select: str, cursor: type[Cursor] | None) -> None:
    answers = []
    for connection in both:
        asked = connection.cursor(cursor)
        # Again, when what describes the columns is known.
        for _ in range(2):
            found = [asked.execute(select), asked.description, asked.fetchall(), asked.rowcount]
            while asked.nextset():
                found.append(asked.fetchall())
            answers.append(found)
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert repr(answers[1]) == repr(answers[3])


def test_an_error_is_that_of_the_driver(both: tuple[Any, Any]) -> None:
    said = []
    for connection in both:
        with connection.cursor() as cursor, pytest.raises(ProgrammingError) as caught:
            cursor.execute("SELECT * FROM nowhere WHERE a = %s", ("%s",))
        said.append(caught.value.args)
    assert said[0] == said[1]


def test_an_error_between_rows_is_that_of_the_driver_and_the_connection_goes_on(both: tuple[Any, Any]) -> None:
    select = (
        "SELECT seq, REPEAT('x', 100), IF(seq = 1500, (SELECT a.seq FROM seq_1_to_3 a WHERE a.seq < every.seq), 1) "
        "FROM seq_1_to_2000 every"
    )
    for connection in both:
        with connection.cursor() as cursor:
            with pytest.raises(OperationalError, match="Subquery returns more than 1 row"):
                cursor.execute(select)
            assert cursor.execute("SELECT 1") == 1


@pytest.mark.parametrize("connect", [QuickConnection, Connection])
def test_a_server_that_stops_between_rows_is_lost(mariadb_url: str, connect: type[Any]) -> None:
    url = make_url(mariadb_url)
    with closing(connect(host=url.host, port=url.port, user=url.username, read_timeout=0.5)) as connection:
        connection.select_db(url.database)
        with pytest.raises(OperationalError, match="Lost connection"):
            connection.cursor().execute("SELECT REPEAT('x', 100), SLEEP(IF(seq = 1500, 60, 0)) FROM seq_1_to_2000")
        assert not connection.open


def test_moments_are_read_in_utc(both: tuple[Any, Any]) -> None:
    with both[0].cursor() as cursor:
        cursor.execute("SELECT CAST('2026-12-01 02:03:04.000005' AS DATETIME(6))")
        assert cursor.fetchone() == (datetime(2026, 12, 1, 2, 3, 4, 5, UTC),)


def test_columns_are_described_once(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a statement that was executed before, on any connection, the driver makes nothing again."""
    ours, _ = both
    with ours.cursor() as cursor:
        cursor.execute("SELECT 1 AS one, 'a' AS a")
    monkeypatch.delattr(MySQLResult, "_get_descriptions")
    with ours.cursor() as cursor:
        assert cursor.execute("SELECT 2 AS one, 'b' AS a") == 1
        assert (cursor.description[0][0], cursor.fetchall()) == ("one", ((2, "b"),))
        with pytest.raises(AttributeError, match="_get_descriptions"):
            cursor.execute("SELECT 2 AS two, 'b' AS a")


def test_no_more_columns_are_remembered_than_that(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_pymysql, "MOST", 3)
    with both[0].cursor() as cursor:
        for number in (*range(9), *range(9)):
            assert cursor.execute(f"SELECT {number} AS a{number}") == 1
            assert (cursor.description[0][0], cursor.fetchall()) == (f"a{number}", ((number,),))
            assert 0 < len(quick_pymysql._COLUMNS) <= 3


def test_the_certificates_of_the_machine_are_read_once(both: tuple[Any, Any]) -> None:
    """Each connection without options of TLS verifies nobody, so it needs none; one with options has its own."""
    ours, plain = both
    opened: Any = QuickConnection
    assert ours.ctx is opened(defer_connect=True).ctx
    assert ours.ctx.verify_mode is plain.ctx.verify_mode is ssl.CERT_NONE
    verifying = [opened(defer_connect=True, ssl={"verify_mode": "required"}).ctx for _ in range(2)]
    assert verifying[0] is not verifying[1]
    assert {each.verify_mode for each in verifying} == {ssl.CERT_REQUIRED}
