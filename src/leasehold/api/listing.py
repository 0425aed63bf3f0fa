"""Long lists: written as JSON while they are read, and kept compressed until they are sent.

Whatever goes wrong while a list is read is answered as an error, because nothing of it has been sent. A client that
reads slowly holds no transaction. What is kept is a tenth of the JSON or less.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 1024 * 1024
"""How much is kept as it is, and how much at a time is sent of what is longer, in bytes."""
_QUICK = 1


class Listing:
    """The JSON object `{key: [item, item...]}`; `length` is its size in bytes."""

    def __init__(self, key: str, items: Iterable[Any]) -> None:
        """Write all items, one after the other."""
        self._compressor = zlib.compressobj(_QUICK)
        self._packed: list[bytes] = []
        self._tail: list[str] = []
        self._waiting = self.length = 0
        self._write(f"{{{json.dumps(key)}:[")
        separator = ""
        for item in items:
            self._write(separator + json.dumps(item, separators=(",", ":")))
            separator = ","
        self._write("]}")

    def _write(self, text: str) -> None:
        self._tail.append(text)
        self._waiting += len(text)
        self.length += len(text)
        if self._waiting >= PIECE:
            self._packed.append(self._compressor.compress(self._take()))

    def _take(self) -> bytes:
        text = "".join(self._tail)
        self._tail, self._waiting = [], 0
        return text.encode("ascii")

    @property
    def content(self) -> bytes | None:
        """All of it if it is short enough to be sent at once, else None."""
        return None if self._packed else "".join(self._tail).encode("ascii")

    def __iter__(self) -> Iterator[bytes]:
        """Yield all of it in pieces, once: what has been yielded is forgotten."""
        packed, tail = [*self._packed, self._compressor.flush()], self._take()
        self._packed.clear()
        decompressor = zlib.decompressobj()
        packed.reverse()
        while packed:
            piece = decompressor.decompress(packed.pop(), PIECE)
            if decompressor.unconsumed_tail:
                packed.append(decompressor.unconsumed_tail)
            yield piece
        yield decompressor.flush() + tail
