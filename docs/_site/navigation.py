"""The order of the pages. It is said here, and not in the pages, so that they read well in the repository too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

Chapters = Mapping[str, Sequence[str]]
"""Pages by the caption above them. A pattern adds the pages that no other entry names."""

NAVIGATION: Mapping[str, Chapters] = {
    "docs/index": {
        "Begin": ["docs/tutorial", "docs/concepts"],
        "Use it": [
            "docs/guides/the-console",
            "docs/guides/command-line",
            "docs/guides/when-is-it-free",
            "docs/guides/ways-to-get-a-lease",
            "docs/guides/flexible-leases",
            "docs/guides/use-what-others-have-reserved",
            "docs/guides/dates-and-lengths",
            "docs/guides/together-or-apart",
            "docs/guides/leases-that-recur",
            "docs/guides/lease-templates",
            "docs/guides/what-you-have",
            "docs/guides/usage-in-hours",
            "docs/guides/what-you-own",
            "docs/guides/how-a-lease-ends",
            "docs/guides/how-you-are-told",
            "docs/guides/leases-in-your-calendar",
            "docs/guides/*",
        ],
        "Operate it": ["docs/operators/README"],
        "Look it up": [
            "docs/reference/api/README",
            "docs/reference/options",
            "docs/reference/policies",
            "docs/reference/states",
            "docs/reference/api-history",
            "docs/reference/v1-contract",
            "docs/reference/features",
            "CHANGELOG",
            "docs/reference/*",
        ],
        "Change it": [
            "docs/start-here",
            "docs/glossary",
            "docs/design",
            "CONTRIBUTING",
            "SECURITY",
            "docs/guides/write-a-resource-type",
            "docs/decisions/README",
            "README",
            "client/README",
            "console/*",
            "nova-filter/README",
            "examples/devices/README",
            "tests/v1/README",
            "bench/README",
        ],
    },
    "docs/operators/README": {
        "": [
            "docs/operators/install",
            "docs/operators/taking-over",
            "docs/operators/running",
            "docs/operators/high-availability",
            "docs/operators/security",
            "docs/operators/two-pools",
            "docs/operators/a-host-broke",
            "docs/operators/preemptible-servers",
            "docs/operators/failures",
            "docs/operators/*",
        ]
    },
    "docs/reference/api/README": {"": ["docs/reference/api/*"]},
    "bench/README": {"": ["bench/*"]},
}
LISTED = "docs/decisions/"
"""The pages in this folder are listed by its README alone: a hundred entries in each sidebar help nobody."""


def add_chapters(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the entries of a page to it, without showing them there."""
    chapters = NAVIGATION.get(page, {})
    if page.startswith(LISTED) and page != f"{LISTED}README":
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    named = {entry for entries in chapters.values() for entry in entries}
    for caption, entries in chapters.items():
        found = [each for entry in entries for each in _pages(entry, app.project.docnames - named)]
        titled = [f":caption: {caption}"] if caption else []
        lines = ["```{toctree}", ":hidden:", *titled, "", *(f"/{each}" for each in found), "```"]
        source[0] = "\n".join([source[0], "", *lines, ""])


def _pages(entry: str, others: Collection[str]) -> Sequence[str]:
    """Return the page of an entry, or those of the others that a pattern names, without the pages below them."""
    if "*" not in entry:
        return [entry]
    depth = entry.count("/")
    found = (page for page in others if fnmatch(page, entry) and page.count("/") == depth)
    return sorted(page for page in found if page not in NAVIGATION)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx use it."""
    app.connect("source-read", add_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
