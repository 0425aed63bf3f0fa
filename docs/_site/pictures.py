"""Pictures of the console, which the browser tests of the same commit take.

    ```picture
    timeline: The timeline of a small cloud
    ```

shows `timeline.png` of the folder that `LEASEHOLD_PICTURES` names, by default `build/pictures`, which `make pictures`
fills. Without that folder the page says what the picture would show.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "LEASEHOLD_PICTURES"
DEFAULT = "build/pictures"


class Picture(SphinxDirective):
    """One picture, and what it shows."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture; a name without a picture in the folder is an error of the build."""
        name, _, shows = " ".join(self.content).partition(": ")
        folder = self.env.srcdir / os.environ.get(FOLDER, DEFAULT)
        if not folder.is_dir():
            return [nodes.paragraph("", "", nodes.emphasis("", f"A picture, from the browser tests: {shows}."))]
        path = folder / f"{name}.png"
        if not path.is_file():
            raise self.error(f"The browser tests have taken no picture {name}.png: {folder} has no such file.")
        # An image is named by its path from the root of the sources.
        place = os.path.relpath(path, self.env.srcdir)
        return [nodes.figure("", nodes.image(uri=f"/{place}", alt=shows), nodes.caption("", shows))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx use it."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
