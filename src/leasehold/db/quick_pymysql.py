"""PyMySQL, which is written in Python, with less of it for each value that is sent and read (decision 0131).

What it sends and returns is the same. The driver calls three or four functions for a value where one is called here,
and parses the description of each column of each result, though a statement that is executed again has the same ones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import FIELD_TYPE
from pymysql.constants.SERVER_STATUS import SERVER_STATUS_NO_BACKSLASH_ESCAPES
from pymysql.converters import conversions, escape_datetime, escape_string
from pymysql.cursors import Cursor
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PLAIN: Final = frozenset({int, bool, float, type(None), datetime})
"""What one encoder makes text of; the driver has other rules for bytes and lists."""
_HEADER: Final = 4
_NO_ROW: Final = frozenset({0xFE, 0xFF})
"""The first bytes of the end and of an error; the former is that of a row, too, whose first value is very long."""
_NULL: Final = 251
_LONGER: Final = {252: 2, 253: 3, 254: 8}
"""How many bytes of length follow, by the byte that says so; smaller ones are a length themselves."""


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
        super()._get_descriptions()  # type: ignore[misc]  # not in its stub
        self.readers = [_reader(*each) for each in self.converters]  # type: ignore[attr-defined]  # as above

    def _read_rowdata_packet(self) -> None:
        rows: list[tuple[Any, ...]] = []
        connection: Any = self.connection
        while True:
            rows += self._rows_that_came(connection)
            packet = connection._read_packet()  # noqa: SLF001 - as the driver does it
            if self._check_packet_is_eof(packet):  # type: ignore[attr-defined]  # not in its stub
                break
            rows.append(self._read_row_from_packet(packet))
        self.connection = None
        self.affected_rows, self.rows = len(rows), tuple(rows)

    def _rows_that_came(self, connection: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that have come as a whole; the driver reads what is next: a part of one, an error, the end."""
        try:
            data = connection._rfile.peek()  # noqa: SLF001 - no message has its own reader
        except OSError:
            return  # The driver meets it again, and knows what it means.
        place = 0
        while (begin := place + _HEADER) < len(data):
            end = begin + int.from_bytes(data[place : place + 3], "little")
            number = data[place + 3]
            if end > len(data) or number != connection._next_seq_id or data[begin] in _NO_ROW:  # noqa: SLF001 - as above
                break
            yield self._row(data[begin:end])
            connection._next_seq_id = (number + 1) % 256  # noqa: SLF001 - as above
            place = end
        connection._rfile.read(place)  # noqa: SLF001 - as above

    def _read_row_from_packet(self, packet: Any) -> tuple[Any, ...]:
        """Return the values of a row."""
        return self._row(packet.get_all_data())

    def _row(self, data: bytes) -> tuple[Any, ...]:
        row: list[Any] = []
        place = 0
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


class QuickConnection(Connection):
    """A connection whose results describe their columns and read their rows."""

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:
        """Return the next packet of the server."""
        described = packet_type is FieldDescriptorPacket
        packet: Any = super()._read_packet(MysqlPacket if described else packet_type)  # type: ignore[no-untyped-call]
        return _described(packet.get_all_data(), self.encoding) if described else packet

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


@lru_cache(maxsize=4096)
def _described(data: bytes, encoding: str) -> FieldDescriptorPacket:
    return FieldDescriptorPacket(data, encoding)


@lru_cache(maxsize=4096)
def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def _utc_of_bytes(data: bytes) -> datetime:
    return _utc(data.decode())


@lru_cache(maxsize=4096)
def _quoted(moment: datetime) -> str:
    return escape_datetime(moment)


OPTIONS: Final[Mapping[str, Any]] = {
    # By default it parses dates with a regular expression: a list of a thousand leases has sixteen thousand of them.
    # Most repeat the moment at which a lease was made, for each of its parts.
    "conv": {**conversions, FIELD_TYPE.DATETIME: _utc, datetime: lambda moment, _: _quoted(moment)},
    "cursorclass": QuickCursor,
}
"""The options of each connection."""


def connect(_dialect: object, _record: object, args: Any, options: Any) -> QuickConnection:
    """Open a connection for SQLAlchemy (its event `do_connect`)."""
    return QuickConnection(*args, **options)
