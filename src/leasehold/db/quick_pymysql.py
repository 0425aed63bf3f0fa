"""PyMySQL, which is written in Python, with less of it for each value that is sent and read (decision 0131).

What it sends and returns is the same. The driver calls three or four functions for a value where one is called here,
and parses the description of each column of each result, though a statement that is executed again has the same ones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import FIELD_TYPE
from pymysql.constants.SERVER_STATUS import SERVER_STATUS_NO_BACKSLASH_ESCAPES
from pymysql.converters import conversions, escape_datetime, escape_string
from pymysql.cursors import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_PLAIN: Final = frozenset({int, bool, float, type(None), datetime})
"""What one encoder makes text of; the driver has other rules for bytes and lists."""
_HEADER: Final = 4
_NO_ROW: Final = frozenset({0xFE, 0xFF})
"""The first bytes of the end and of an error; the former is that of a row, too, whose first value is very long."""
_NULL: Final = 251
_LONGER: Final = {252: 2, 253: 3, 254: 8}
"""How many bytes of length follow, by the byte that says so; smaller ones are a length themselves."""
MOST: Final = 1024
_COLUMNS: Final[dict[tuple[tuple[bytes, ...], str], Any]] = {}
"""What the driver makes of the packets that describe columns, MOST of them: a statement has the same each time."""


class QuickCursor(Cursor):
    """A cursor that makes text of values."""

    def _mogrify(self, query: str, args: Any) -> str:
        """Return the statement with its values."""
        connection: Any = self.connection
        if connection.server_status & SERVER_STATUS_NO_BACKSLASH_ESCAPES:
            return str(super()._mogrify(query, args))  # type: ignore[misc]  # not in its stub
        encoders = connection.encoders
        texts = []
        for value in args.values() if isinstance(args, dict) else args:
            kind = type(value)
            if kind is str:
                texts.append(f"'{escape_string(value)}'")
            else:
                texts.append(encoders[kind](value, encoders) if kind in _PLAIN else connection.escape(value))
        return query % (dict(zip(args, texts, strict=True)) if isinstance(args, dict) else tuple(texts))


class QuickResult(MySQLResult):
    """A result that reads its rows."""

    def _get_descriptions(self) -> None:
        connection: Any = self.connection
        packets = tuple(islice(_packets_that_came(connection), self.field_count))
        known = _COLUMNS.get((packets, connection.encoding)) if len(packets) == self.field_count else None
        if known is not None:
            self.fields, self.converters, self.description, self.readers = known
            _skip(connection, packets)
            connection._read_packet()  # noqa: SLF001 - as the driver does it; the end of the descriptions
            return
        super()._get_descriptions()  # type: ignore[misc]  # not in its stub
        self.readers = [_reader(*each) for each in self.converters]
        if len(packets) == self.field_count:
            if len(_COLUMNS) >= MOST:
                _COLUMNS.clear()
            _COLUMNS[packets, connection.encoding] = (self.fields, self.converters, self.description, self.readers)

    def _read_rowdata_packet(self) -> None:
        rows: list[tuple[Any, ...]] = []
        connection: Any = self.connection
        while True:
            # The driver reads what is next: a part of a row, an error, the end.
            packets = list(takewhile(lambda packet: packet[_HEADER] not in _NO_ROW, _packets_that_came(connection)))
            rows += [self._row(packet, _HEADER) for packet in packets]
            _skip(connection, packets)
            packet = connection._read_packet()  # noqa: SLF001 - as the driver does it
            if self._check_packet_is_eof(packet):  # type: ignore[attr-defined]  # not in its stub
                break
            rows.append(self._read_row_from_packet(packet))
        self.connection = None
        self.affected_rows, self.rows = len(rows), tuple(rows)

    def _read_row_from_packet(self, packet: Any) -> tuple[Any, ...]:
        """Return the values of a row."""
        return self._row(packet.get_all_data(), 0)

    def _row(self, data: bytes, place: int) -> tuple[Any, ...]:
        row: list[Any] = []
        for read in self.readers:
            length = data[place]
            place += 1
            if length == _NULL:
                row.append(None)
                continue
            if length > _NULL:
                begin = place + _LONGER[length]
                length = int.from_bytes(data[place:begin], "little")
                place = begin
            end = place + length
            row.append(read(data[place:end]))
            place = end
        return tuple(row)


@cache
def _reader(encoding: str | None, convert: Callable[[Any], Any] | None) -> Callable[[bytes], Any]:
    """Return what reads a value of a column: by one function that is written in C, if one does what the two do."""
    if convert in (int, float):
        return convert  # Both read digits as they come.
    if convert is _utc:
        return _utc_of_bytes
    if encoding is None:
        return convert or bytes
    if convert is None:
        return bytes.decode if encoding == "utf8" else lambda data: data.decode(encoding)
    return lambda data: convert(data.decode(encoding))


def _packets_that_came(connection: Any) -> Iterator[bytes]:
    """Yield the next packets with their headers, if they have come as a whole; they are still to be read."""
    try:
        data: bytes = connection._rfile.peek()  # noqa: SLF001 - no message has its own reader
    except OSError:
        return  # The driver meets it again, and knows what it means.
    place, number = 0, connection._next_seq_id  # noqa: SLF001 - as above
    while (begin := place + _HEADER) < len(data) and data[place + 3] == number % 256:
        end = begin + int.from_bytes(data[place : place + 3], "little")
        if end > len(data):
            return
        yield data[place:end]
        place, number = end, number + 1


def _skip(connection: Any, packets: Collection[bytes]) -> None:
    """Let the driver read what comes after these packets."""
    connection._rfile.read(sum(map(len, packets)))  # noqa: SLF001 - as above
    connection._next_seq_id = (connection._next_seq_id + len(packets)) % 256  # noqa: SLF001 - as above


class QuickConnection(Connection):
    """A connection whose results remember their columns and read their rows.

    All of them read values alike, so what describes the columns of one does so for the others.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, conv=CONVERSIONS, cursorclass=QuickCursor, **options)

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        """Return the context of TLS: one for all connections that set no options of it."""
        return super()._create_ssl_ctx(sslp) if sslp else _unverified()  # type: ignore[misc]  # not in its stub

    def _read_query_result(self, unbuffered: bool = False) -> Any:  # noqa: FBT001, FBT002 - its signature is the driver's
        """Read a result; return how many rows it is about."""
        self._result = None
        result: Any = QuickResult(self)
        if unbuffered:
            result.init_unbuffered_query()
        else:
            result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return result.affected_rows


@cache
def _unverified() -> Any:
    """Return the driver's context without options: it verifies no server, and takes 16 ms to make."""
    return Connection._create_ssl_ctx(None, {})  # type: ignore[attr-defined]  # noqa: SLF001 - not in its stub


@lru_cache(maxsize=4096)
def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def _utc_of_bytes(data: bytes) -> datetime:
    return _utc(data.decode())


@lru_cache(maxsize=4096)
def _quoted(moment: datetime) -> str:
    return escape_datetime(moment)


CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    # By default it parses dates with a regular expression: a list of a thousand leases has sixteen thousand of them.
    # Most repeat the moment at which a lease was made, for each of its parts.
    FIELD_TYPE.DATETIME: _utc,
    datetime: lambda moment, _: _quoted(moment),
}


def connect(_dialect: object, _record: object, args: Any, options: Any) -> QuickConnection:
    """Open a connection for SQLAlchemy (its event `do_connect`)."""
    return QuickConnection(*args, **options)
