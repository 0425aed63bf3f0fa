"""Long lists: written as JSON while they are read, and kept in a compressed file until they are sent.

A failure while the list is read is answered as an error, because nothing has been sent yet. A client that reads slowly
keeps no transaction open. The file has about a fifth of the JSON's size, and no name, so it goes with the list.
"""

from __future__ import annotations

from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

from lz4.frame import LZ4FrameCompressor, LZ4FrameDecompressor

from leasehold.model.json_bytes import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 1024 * 1024
"""Bytes that a list may have before it goes into a file, and bytes of each piece that is sent from there."""
TOGETHER = 8
"""Items that are written at once: each call of the writer has a price."""

_READ = 64 * 1024


class Listing:
    """The JSON object `{key: [item, item...]}`; `length` is its size in bytes."""

    def __init__(self, key: str, items: Iterable[Any] = (), *, texts: Iterable[bytes | memoryview] = ()) -> None:
        """Write all items, or their texts, one after the other. Raises OSError when there is no space for the file."""
        self._compressor = LZ4FrameCompressor()
        self._file: IO[bytes] | None = None
        self._tail = bytearray(b"{%b:[" % as_json(key))
        self._packed = 0
        separator = b""
        for text in chain(texts, _texts(items)):
            self._tail += separator
            self._tail += text
            separator = b","
            if len(self._tail) >= PIECE:
                self._pack(self._take())
        self._tail += b"]}"
        self.length = self._packed + len(self._tail)

    def _pack(self, text: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - it stays open as long as this list exists.
            finalize(self, self._file.close)
            self._file.write(self._compressor.begin())
        self._file.write(self._compressor.compress(text))

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
            self._file.write(self._compressor.flush())
            self._file.seek(0)
            decompressor = LZ4FrameDecompressor()
            while not decompressor.eof:
                yield decompressor.decompress(self._file.read(_READ) if decompressor.needs_input else b"", PIECE)
        yield tail


def _texts(items: Iterable[Any]) -> Iterator[memoryview]:
    each = iter(items)
    while some := list(islice(each, TOGETHER)):
        yield memoryview(as_json(some))[1:-1]
