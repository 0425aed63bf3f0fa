"""The console's files: public and static, with the headers under which a browser runs them.

They are in the folder `static` of the package leasehold_console, which need not be installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = "leasehold_console"
INDEX = "index.html"
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII)
"""One name in the path of a file: never hidden, and never a way out of the folder."""
DEEPEST = 8
TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
"""The types by the ends of the names; a file that ends otherwise is not served."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types lit-html"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Of every file. `no-cache` lets a browser keep a file and has it ask each time whether it is still that."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is served; `etag` names its content, in the form of the header."""

    content: bytes
    media_type: str
    etag: str


class Files:
    """The files in a folder. A changed one is served as it is now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def find(self, path: str) -> File | None:
        """Return the file at a path below the folder, the index for an empty one; None if there is none."""
        words = (path or INDEX).split("/")
        if len(words) > DEEPEST or not all(map(WORD.fullmatch, words)):
            return None
        place = self._folder.joinpath(*words)
        media_type = TYPES.get(place.suffix)
        # A link that leads elsewhere is no file of the console.
        if media_type is None or not place.is_file() or not place.resolve().is_relative_to(self._folder):
            return None
        status = place.stat()
        return _read(place, media_type, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=256)
def _read(place: Path, media_type: str, _stamp: tuple[int, int]) -> File:
    """Return the file; the stamp makes a changed file another one."""
    content = place.read_bytes()
    return File(content, media_type, f'"{sha256(content).hexdigest()[:32]}"')


def installed_files() -> Files | None:
    """Return the files of the installed console, None if there is none."""
    found = find_spec(PACKAGE)
    folders = [] if found is None else [Path(place) / "static" for place in found.submodule_search_locations or ()]
    return next((Files(folder) for folder in folders if (folder / INDEX).is_file()), None)
