"""Drawings of the site: Mermaid's, which Graphviz lays out, and SVG files, both put into the page.

A drawing within the page follows the colours of the page, light or dark, and needs no further request.
"""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from docs._site.mermaid import DrawingError, to_graphviz

if TYPE_CHECKING:
    from typing import Any

    from sphinx.application import Sphinx

DOT = ("dot", "-Tsvg")
WIDE = 600
"""The width from which a drawing is not made smaller: its letters could not be read."""
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_COLOUR = re.compile(r' (?:fill|stroke)="(?:black|white|transparent)"')
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_HEAD = re.compile(r'<svg[^>]*?viewBox="([\d.-]+ [\d.-]+ ([\d.]+) [\d.]+)"[^>]*>', re.DOTALL)


def in_page(svg: str, shows: str) -> nodes.raw:
    """Return an SVG as a part of the page; `shows` says what it shows to those who do not see it.

    A narrow screen shows it smaller, and one that is too wide for that is scrolled.
    """
    label = html.escape(" ".join(shows.split()), quote=True)
    drawn = _STYLE.sub("", svg)
    found = _HEAD.search(drawn)
    if found is None:
        raise DrawingError("An SVG without a viewBox has no size: give it one.")
    view, width = found.groups()
    sort = "drawing wide" if float(width) > WIDE else "drawing"
    head = f'<svg class="{sort}" role="img" aria-label="{label}" viewBox="{view}" width="{width}">'
    drawn = drawn[: found.start()] + head + drawn[found.end() :]
    return nodes.raw("", f'<figure class="drawing" tabindex="0">{drawn}</figure>', format="html")


class Mermaid(SphinxDirective):
    """A fenced drawing in Mermaid's language."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the drawing; one that is not understood is an error of the build."""
        try:
            source = to_graphviz("\n".join(self.content))
        except DrawingError as error:
            raise self.error(str(error)) from None
        return [in_page(laid_out(source), "A drawing; the text beside it says the same.")]


def laid_out(source: str) -> str:
    """Return the SVG that Graphviz makes of a drawing, without colours of its own."""
    made = subprocess.run(DOT, input=source, capture_output=True, text=True, check=True, timeout=60).stdout
    return _COLOUR.sub("", _PROLOGUE.sub("", made))


class InlineDrawings(SphinxTransform):
    """Puts SVG files that a page shows as images into the page."""

    # Before Sphinx collects images.
    default_priority = 200

    def apply(self, **_: Any) -> None:
        """Replace the images of a page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].endswith(".svg"):
                image.replace_self(in_page((folder / image["uri"]).read_text(encoding="utf-8"), image.get("alt", "")))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx use it."""
    app.add_directive("mermaid", Mermaid)
    app.add_transform(InlineDrawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
