"""The documentation site: it builds without a warning, has everything, and asks nobody else for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from docs._site.api_reference import GROUPS, REST, errors_page, page_of, routes_page
from docs._site.mermaid import DrawingError, to_graphviz
from leasehold.cmd.web import ROUTES
from leasehold.model.transitions import TABLE
from tests.servers import ServerMissingError, find_program

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
ELSEWHERE = re.compile(r"(?:https?:)?//")
STATES = re.compile(r"^    (\w+) --> (\w+): (.+)$", re.MULTILINE)
INLINE = {"style", "onload", "onclick", "onerror"}
"""Attributes that a strict policy of contents forbids."""
ASKED_FOR = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}


class Page(HTMLParser):
    """What a browser would ask for to show a page, and what it has within itself that a strict policy forbids."""

    def __init__(self, path: Path) -> None:
        """Read the page."""
        super().__init__()
        self.addresses: list[str] = []
        self.forbidden: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        known = dict(attrs)
        self.addresses += [value for name, value in attrs if (tag, name) in ASKED_FOR and value]
        self.forbidden += [f"{tag} {name}" for name in known if name in INLINE]
        if tag == "style" or (tag == "script" and "src" not in known):
            self.forbidden.append(tag)


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build the site as `make docs` does."""
    if find_program("dot") is None:
        raise ServerMissingError("The documentation is drawn with Graphviz; on Debian: apt-get install graphviz")
    command = [sys.executable, "-m", "docs._site", str(folder)]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=560, check=False
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_site(tmp_path: Path) -> None:
    """One test, because one build takes long."""
    # The tests of the console may be taking their pictures now; `tools/run_tests.py` builds the site with them.
    done = build(tmp_path, LEASEHOLD_PICTURES=str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr[-4000:]
    site = tmp_path / "html"
    pages = sorted(site.rglob("*.html"))
    check_that_nobody_else_is_asked(site, pages)
    check_that_all_documents_are_there(site)
    check_the_reference(site)
    front = (site / "docs" / "index.html").read_text()
    assert '<svg class="drawing' in (site / "docs" / "concepts.html").read_text()
    assert all(f'href="{page}.html"' in front for page in ("tutorial", "concepts", "operators/README", "start-here"))
    assert 'url=docs/index.html"' in (site / "index.html").read_text()


def check_that_nobody_else_is_asked(site: Path, pages: list[Path]) -> None:
    for path in pages:
        page = Page(path)
        assert not page.forbidden, f"{path}: {page.forbidden}"
        assert not [address for address in page.addresses if ELSEWHERE.match(address)], path
        files = [address.split("#")[0].split("?")[0] for address in page.addresses]
        assert all((path.parent / name).exists() for name in files), path
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        assert "@import" not in text, sheet
        assert not re.search(r"url\(['\"]?(?:https?:)?//", text), sheet


def check_that_all_documents_are_there(site: Path) -> None:
    decisions = (site / "docs" / "decisions" / "README.html").read_text()
    for source in DOCS.rglob("*.md"):
        if source.parent.name == "decisions" and source.name != "README.md":
            assert f'href="{source.stem}.html"' in decisions, f"docs/decisions/README.md does not list {source.name}."
        assert (site / source.relative_to(ROOT)).with_suffix(".html").exists(), source


def check_the_reference(site: Path) -> None:
    text = "".join(page.read_text() for page in (site / "docs" / "reference" / "api").glob("*.html"))
    headings = re.findall(r"<h2><code[^>]*>(.*?)</code>", text)
    said = {re.sub(r"<.*?>", "", heading) for heading in headings}
    assert {f"{route.method} {route.path}" for route in ROUTES} <= said
    assert "leasehold.resources.not_enough" in text
    assert "lists the routes here" not in text


def build_pages(folder: Path, pages: dict[str, str], extensions: str) -> subprocess.CompletedProcess[str]:
    """Build these pages with the settings of the site."""
    (folder / "docs").mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text)
    settings = ["-c", str(DOCS / "_site"), "-D", f"extensions=myst_parser,{extensions}", "-W", "--keep-going", "-qE"]
    command = [sys.executable, "-m", "sphinx", *settings, "-b", "html", str(folder), str(folder / "out")]
    environment = {name: value for name, value in os.environ.items() if name != "LEASEHOLD_PICTURES"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.slow
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    pages = {"index.md": "# A\n\n[a](other.md), [b](gone.md), [c](other.md#gone)\n", "other.md": "# B\n"}
    done = build_pages(tmp_path, pages, "docs._site.drawings,docs._site.theme")
    assert done.returncode != 0
    assert "'gone.md'" in done.stderr
    assert "'gone'" in done.stderr


@pytest.mark.slow
def test_pictures_are_those_of_the_browser_tests(tmp_path: Path) -> None:
    """Without their folder the page says what it would show."""
    pages = {"index.md": "# A\n\n```picture\nstart: The start page\n```\n"}
    page = tmp_path / "out" / "docs" / "index.html"
    assert build_pages(tmp_path, pages, "docs._site.pictures,docs._site.theme").returncode == 0
    assert "<em>A picture, from the browser tests: The start page.</em>" in page.read_text()
    pictures = tmp_path / "build" / "pictures"
    pictures.mkdir(parents=True)
    done = build_pages(tmp_path, pages, "docs._site.pictures,docs._site.theme")
    assert (done.returncode, "no picture start.png" in done.stderr) == (1, True), done.stderr
    Image.new("RGB", (8, 8)).save(pictures / "start.png")
    done = build_pages(tmp_path, pages, "docs._site.pictures,docs._site.theme")
    assert done.returncode == 0, done.stderr
    assert re.search(r'<img alt="The start page" src="\.\./_images/start\.png"', page.read_text())


def test_each_group_of_routes_has_its_page_and_no_page_is_empty() -> None:
    for page in (*GROUPS, REST):
        assert (DOCS / "reference" / "api" / f"{page}.md").exists()
        assert routes_page(page)
    assert {page_of(route.path) for route in ROUTES} == {*GROUPS, REST}


def test_the_page_of_errors_names_each_code_once() -> None:
    codes = re.findall(r"^\| `(leasehold[\w.]+)`", errors_page(), re.MULTILINE)
    assert len(codes) > 40
    assert len(codes) == len(set(codes))


def test_the_short_drawing_of_the_states_says_what_the_table_says() -> None:
    drawn = STATES.findall((DOCS / "concepts.md").read_text())
    known = {
        (str(state), str(row.next), row.trigger.value) for row in TABLE for state in row.states if row.next is not None
    }
    assert len(drawn) > 5
    assert set(drawn) <= known


@pytest.mark.parametrize(
    "source",
    ["gantt\n a: 1", "stateDiagram-v2\n    A -> B: one", "flowchart TB\n    a ==> b", 'flowchart TB\n    a{"b"}'],
)
def test_a_drawing_that_is_not_understood_is_an_error(source: str) -> None:
    with pytest.raises(DrawingError):
        to_graphviz(source)


def test_a_drawing_keeps_its_boxes_arrows_and_labels() -> None:
    lines = ["flowchart LR", 'a["One"]', 'b["A long label that takes more than one line"]', "a -.->|why| b"]
    drawn = to_graphviz("\n".join(lines))
    assert "rankdir=LR" in drawn
    assert 'b [label="A long label that takes more\\nthan one line", shape=box];' in drawn
    assert 'a -> b [style=dashed, label="why"];' in drawn
