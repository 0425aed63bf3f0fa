"""How Sphinx builds the documentation site: `make docs`. Its sources are the Markdown files of the repository."""

from __future__ import annotations

import sys
from importlib.metadata import version as distribution_version
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

project = "Leasehold"
author = "The authors of Leasehold"
version = release = distribution_version("leasehold")
html_title = "Leasehold"

extensions = [
    "myst_parser",
    "docs._site.navigation",
    "docs._site.api_reference",
    "docs._site.drawings",
    "docs._site.pictures",
    "docs._site.theme",
]

# The links between the pages are those of the files in the repository, so they are right in both.
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/*.md",
    "client/README.md",
    "console/README.md",
    "docs/**.md",
    "examples/**/README.md",
    "nova-filter/README.md",
    "tests/v1/README.md",
]
exclude_patterns = [".*", "**/.*", "**/__pycache__", "**/node_modules", "bench/out", "build", "docs/_site"]

# The anchors of headings are those that GitHub makes.
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid", "picture"]
nitpicky = True
# A command may have JSON in several lines, of which the highlighter of consoles cannot make sense: shown plainly.
suppress_warnings = ["misc.highlighting_failure"]
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"

html_theme = "furo"
html_static_path = ["static"]
html_extra_path = ["root"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_theme_options = {"sidebar_hide_name": False, "top_of_page_buttons": []}
