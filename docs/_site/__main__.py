"""Builds the site: `python -m docs._site [FOLDER]`, by default into `build/docs`. A warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parent.parent.parent
HTML = "html"
"""The folder of the pages, below the folder of the build."""


def main(arguments: list[str]) -> int:
    """Build the site and return the exit status."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "docs"
    strict = ["--fail-on-warning", "--quiet", "--jobs", "auto", "--builder", "html"]
    places = ["--conf-dir", str(Path(__file__).parent), "--doctree-dir", str(folder / "doctrees")]
    # Fresh: what is made from the code changes without a change of a page.
    status = build_main([*strict, "--fresh-env", *places, str(ROOT), str(folder / HTML)])
    if status == 0:
        sys.stdout.write(f"The site is in {folder / HTML}: open index.html.\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
