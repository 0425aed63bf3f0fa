"""Long lists: written as JSON while they are read, and kept in a compressed file until they are sent.

A failure while the list is read is answered as an error, because nothing has been sent yet. A client that reads slowly
keeps no transaction open. The file has at most a tenth of the JSON's size, and no name, so it goes with the list.
"""

from __future__ import annotations

import zlib
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

from leasehold.api.json_bytes import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 1024 * 1024
"""Bytes that a list may have before it goes into a file, and bytes of each piece that is sent from there."""
_READ = 64 * 1024
_QUICK = 1


class Listing:
    """The JSON object `{key: [item, item...]}`; `length` is its size in bytes."""

    def __init__(self, key: str, items: Iterable[Any]) -> None:
        """Write all items, one after the other. Raises OSError when there is no space for the file."""
        self._compressor = zlib.compressobj(_QUICK)
        self._file: IO[bytes] | None = None
        self._tail = bytearray(b"{%b:[" % as_json(key))
        self._packed = 0
        separator = b""
        for item in items:
            self._tail += separator
            self._tail += as_json(item)
            separator = b","
            if len(self._tail) >= PIECE:
                self._pack(self._compressor.compress(self._take()))
        self._tail += b"]}"
        self.length = self._packed + len(self._tail)

    def _pack(self, packed: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - it stays open as long as this list exists.
            finalize(self, self._file.close)
        self._file.write(packed)

    def _take(self) -> bytes:
        text = bytes(self._tail)
        self._tail.clear()
        self._packed += len(text)
        return text

    @property
    def content(self) -> bytes | None:
        """The whole list if it is short enough to be sent at once, else None."""
        return bytes(self._tail) if self._file is None else None

    def __iter__(self) -> Iterator[bytes]:
        """Yield the whole list in pieces; works only once."""
        tail = self._take()
        if self._file is not None:
            self._pack(self._compressor.flush())
            self._file.seek(0)
            decompressor = zlib.decompressobj()
            while packed := decompressor.unconsumed_tail or self._file.read(_READ):
                yield decompressor.decompress(packed, PIECE)
            yield decompressor.flush()
        yield tail
