"""What Furo's templates have within the page and a strict policy of contents forbids, said in another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx.jinja2glue import BuiltinTemplateLoader

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STYLE = re.compile(r'style="([a-z-]+): ([\w%]+);?"')


def as_attributes(svg: str) -> str:
    """Return an SVG whose elements with one style have an attribute in its place."""
    return STYLE.sub(lambda found: f'{found[1]}="{found[2]}"', svg)


def add_filter(app: Sphinx) -> None:
    """Let the templates use it, as `as_attributes`."""
    # Other builders of Sphinx have no templates.
    loader = getattr(app.builder, "templates", None)
    if isinstance(loader, BuiltinTemplateLoader):
        loader.environment.filters["as_attributes"] = as_attributes


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx use it."""
    app.connect("builder-inited", add_filter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
