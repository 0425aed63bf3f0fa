"""Writes which modules the console's page loads at once; `--check` only says whether that is up to date.

A browser learns of a module when it has read the one that imports it, so each level of imports would cost a round trip.
The page names all that the shell and its first page import, however indirectly.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

STATIC = Path(__file__).parent.parent / "console" / "src" / "leasehold_console" / "static"
PAGE = STATIC / "index.html"
ROOTS = ("app.mjs", "pages/timeline.mjs")
IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"'(]*["'](?P<name>\.[^"']+)["']|(?<=[;}])import[^;"'(]*["'](?P<next>\.[^"']+)["']""",
    re.MULTILINE,
)
LINE = re.compile(r'^ *<link rel="modulepreload"[^>]*>\n', re.MULTILINE)
FIRST = '    <script type="module" src="./app.mjs">'


def imported(module: str) -> list[str]:
    """Return the modules that a module imports, not those that it loads later, by their paths in the folder."""
    text = (STATIC / module).read_text(encoding="utf-8")
    names = [found["name"] or found["next"] for found in IMPORT.finditer(text)]
    return [posixpath.normpath(posixpath.join(posixpath.dirname(module), name)) for name in names]


def needed() -> list[str]:
    """Return what the page needs, in the order in which a browser would find it."""
    found = list(ROOTS)
    for module in found:
        found += [each for each in imported(module) if each not in found]
    return [module for module in found if module != "app.mjs"]


def written(text: str) -> str:
    """Return the page with the modules that it needs."""
    lines = "".join(f'    <link rel="modulepreload" href="./{module}">\n' for module in needed())
    return LINE.sub("", text).replace(FIRST, lines + FIRST)


def main(arguments: list[str]) -> int:
    """Write the page, or check it; returns 1 if it is out of date and was not written."""
    text = PAGE.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        if written(text) != text:
            print(f"{PAGE.name} names other modules than those that are imported: run make reference.")
            return 1
        return 0
    PAGE.write_text(written(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
