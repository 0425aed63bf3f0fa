"""The repository itself: pins, scripts, commit messages, links and citations, and the suite's database servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from leasehold.db.store import LOCK_ORDER
from leasehold.features.registry import NAMES, all_tables
from tests.servers import Server, new_database, running_mariadb, running_postgresql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
SCRIPTS = ("tools/bootstrap", ".ci/run")
PINS = ("runtime", "client", "dev", "tools")
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)(\[[a-z,-]+\])?==(?P<version>\S+)(?P<marker> ; [^\\]+)? \\$", re.MULTILINE)

FOLDERS = ("bench", "client", "console", "docs", "examples", "nova-filter", "src", "tests", "tools")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
MODULES = sorted(module for folder in FOLDERS for module in (ROOT / folder).rglob("*.py"))
DESIGN = ROOT / "docs" / "design.md"
CONTRACT = ROOT / "docs" / "reference" / "v1-contract.md"
FEATURES = ROOT / "docs" / "reference" / "features.md"
START = ROOT / "docs" / "start-here.md"
MOST_TO_READ = 12
"""The limit on the number of files of each of the two paths of `docs/start-here.md`."""

PARTS = "http-api|resources|lifecycle|clients|nova-filter"
SECTION = re.compile(rf"\b(?P<page>(?:[Dd]esign|{PARTS})(?=\s+§)|(?<=ontract )(?:{PARTS}))|§(?P<number>\d+(?:\.\d+)*)")
FEATURE = re.compile(r"\b[Ff]eatures?\s+([A-N]\d+(?:(?:,|,? and)\s+[A-N]\d+)*)")
IDEA = re.compile(r"\b[Ii]deas?\s+(\d+(?:(?:,|,? and)\s+\d+)*)")

Citation = tuple[str | None, str]
"""The page and its section or row: `("http-api", "5.1")`, `("feature", "A7")`."""


def pins(name: str) -> dict[tuple[str, str], str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return {(pin["name"], pin["marker"] or ""): pin["version"] for pin in PIN.finditer(text)}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = "bash" if script == ".ci/run" else "sh"
    subprocess.run([shell, "-n", script], cwd=ROOT, check=True)


def test_tests_on_an_openstack_are_where_they_are_looked_for() -> None:
    """One elsewhere would be run by neither part of the suite."""
    folders = re.search(r"^ON_OPENSTACK = \((.*)\)$", (ROOT / "tools" / "run_tests.py").read_text(), re.MULTILINE)
    assert folders is not None
    marker = re.compile(r"mark\.openstack")
    marked = {path.parent.relative_to(ROOT).as_posix() for path in MODULES if marker.search(path.read_text())}
    assert len(marked) > 1
    assert marked <= set(re.findall(r'"(.*?)"', folders[1]))


def test_bootstrap_names_its_modes_when_asked_for_another() -> None:
    answer = subprocess.run(["tools/bootstrap", "else"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert answer.returncode == 1
    assert "runtime, check, test" in answer.stderr


@pytest.mark.parametrize("name", PINS)
def test_every_requirement_is_exact_and_hashed(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    requirements = re.findall(r"^[^\s#].*(?:\n    --hash=.*)*", text, re.MULTILINE)
    assert requirements
    for requirement in requirements:
        first, *hashes = requirement.splitlines()
        assert PIN.match(first), first
        assert hashes, first


@pytest.mark.parametrize("name", PINS)
def test_pins_name_no_index_and_no_machine(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert not re.findall(r"://|--index-url|--extra-index-url|--find-links|-e |^/", text, re.MULTILINE)


def test_what_is_tested_is_what_runs() -> None:
    # What only tests need may want a package on more platforms, so markers may differ, and versions may not.
    runs, dev = (
        {(package, version) for name in names for (package, _), version in pins(name).items()}
        for names in (("runtime", "client"), ("dev",))
    )
    assert runs - dev == set()


def test_the_back_end_is_the_pinned_one() -> None:
    pinned = {name: version for (name, _), version in pins("tools").items()}
    for project in (
        "pyproject.toml",
        "client/pyproject.toml",
        "console/pyproject.toml",
        "nova-filter/pyproject.toml",
        "examples/devices/pyproject.toml",
    ):
        assert f'requires = ["hatchling=={pinned["hatchling"]}"]' in (ROOT / project).read_text()


def test_resource_types_are_found_by_their_v1_names() -> None:
    names = {entry.name for entry in entry_points(group="leasehold.resource_types")}
    assert names >= {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Name the lock\n\nNobody knew which.", None),
        (f"{'x' * 72}\n\nWhy.", None),
        (f"{'x' * 73}\n\nWhy.", "73 characters"),
        ("Name the lock", "why"),
        ("Name the lock\n\n \n", "why"),
        ("Name the lock\nNobody knew which.", "blank"),
    ],
)
def test_commit_messages_are_checked(tmp_path: Path, message: str, fault: str | None) -> None:
    file = tmp_path / "message"
    file.write_text(message)
    command = [sys.executable, "tools/check_commits.py", "--file", str(file)]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert answer.returncode == (fault is not None)
    assert (fault or "") in answer.stdout


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in slugs, target


def what_can_be_cited() -> set[Citation]:
    features, ideas = FEATURES.read_text().split("\n## Ideas\n")
    return {
        *(("design", number) for number in re.findall(r"^## (\d+)\. ", DESIGN.read_text(), re.MULTILINE)),
        *re.findall(rf"^#+ ({PARTS}) §(\d+(?:\.\d+)*): ", CONTRACT.read_text(), re.MULTILINE),
        *(("feature", row) for row in re.findall(r"^\| ([A-N]\d+) \|", features, re.MULTILINE)),
        *(("idea", row) for row in re.findall(r"^\| (\d+) \|", ideas, re.MULTILINE)),
    }


def cited(text: str, page: str | None = None) -> Iterator[Citation]:
    """Yield the citations in a text. A section without a page belongs to the page that the text named last."""
    for found in SECTION.finditer(text):
        page = (found["page"] or page or "").lower() or None
        if found["number"]:
            yield page, found["number"]
    for kind, pattern in (("feature", FEATURE), ("idea", IDEA)):
        for rows in pattern.findall(text):
            yield from ((kind, row) for row in re.findall(r"[A-N]?\d+", rows))


def test_citations_are_understood() -> None:
    text = 'Contract http-api §2, §2.2 and §3 (design\n§5); "§4". Features A10, A11 and D1, idea 19; ideas 8, 9.'
    sections = [("http-api", "2"), ("http-api", "2.2"), ("http-api", "3"), ("design", "5"), ("design", "4")]
    rows = [("feature", "A10"), ("feature", "A11"), ("feature", "D1"), ("idea", "19"), ("idea", "8"), ("idea", "9")]
    assert list(cited(text)) == [*sections, *rows]
    assert list(cited("as §7 says")) == [(None, "7")]


def test_every_citation_leads_to_a_section_or_a_row() -> None:
    known = what_can_be_cited()
    found = {
        (str(path.relative_to(ROOT)), citation)
        for path in (*MODULES, *DOCUMENTS)
        for citation in cited(path.read_text(), "design" if path == DESIGN else None)
    }
    dangling = sorted(
        f"{path}: {page or 'a page that is not named'} {of}" for path, (page, of) in found if (page, of) not in known
    )
    assert not dangling
    assert {page for _, (page, _) in found} == {page for page, _ in known}


def there(names: Iterable[str]) -> dict[str, bool]:
    return {name: (ROOT / name).exists() or (ROOT / "src" / "leasehold" / name).exists() for name in names}


def test_what_is_done_names_files_that_exist() -> None:
    features, ideas = FEATURES.read_text().split("\n## Ideas\n")
    rows = re.findall(r"^\| [A-N]\d+ \|.*$", features, re.MULTILINE) + re.findall(r"^\| \d+ \|.*$", ideas, re.MULTILINE)
    for key, _, state, *_ in (row.split(" | ") for row in rows):
        named = there(re.findall(r"`([\w-]+(?:/[\w.-]+)+\.\w+)`", state))
        assert all(named.values()), (key, named)
        assert state.startswith(("**done**", "**partly**", "not yet")), (key, state)
        assert named or not state.startswith("**done**"), key


def test_the_design_has_every_table_and_feature_and_the_lock_order() -> None:
    text = DESIGN.read_text()
    tables = re.search(r"\n## 3\. .*?(?=\n## 4\. )", text, re.DOTALL)
    assert tables is not None
    rows = re.findall(r"^\| (`.*?`) \|", tables[0], re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(all_tables().tables)
    positions = [tables[0].rindex(f"`{name}`") for name in LOCK_ORDER]
    assert positions == sorted(positions)
    assert set(re.findall(r"^\| `(\w+)` \| [^|]* \|$", text.split("\n## 9. ")[1], re.MULTILINE)) >= set(NAMES)


def test_code_names_files_that_exist() -> None:
    bases = (ROOT, ROOT / "tests", ROOT / "src" / "leasehold")
    gone = [
        (str(path.relative_to(ROOT)), name)
        for path in MODULES
        for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", path.read_text())
        if not any((base / name).exists() for base in (path.parent, *bases))
    ]
    assert not gone


def test_each_trust_boundary_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| [^-|]+ \| [^|]+ \| (.*) \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    named = [re.findall(r"`((?:tests|nova-filter)/[\w./-]+)`", row) for row in rows if "tests/" in row]
    assert len(named) > 10
    assert all((ROOT / path).exists() for row in named for path in row)


def test_each_path_through_the_code_is_short_and_leads_along_files_that_exist() -> None:
    text = START.read_text()
    named = there(re.findall(r"`((?:\w+/)+\w+\.py)`", text))
    assert all(named.values()), named
    paths = re.findall(r"^## Path \d: .*?(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert len(paths) == 2
    for path in paths:
        rows = re.findall(r"^\| (\d+) \| `([\w/]+\.py)` \|", path, re.MULTILINE)
        assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
        assert len({file for _, file in rows}) == len(rows) <= MOST_TO_READ


def answers(url: str) -> bool:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            return bool(connection.execute(sa.text("SELECT 1")).scalar() == 1)
    finally:
        engine.dispose()


def test_database_url_is_an_empty_database(database_url: str) -> None:
    assert answers(database_url)
    engine = sa.create_engine(database_url)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.servers
@pytest.mark.parametrize("run", [running_mariadb, running_postgresql], ids=["mariadb", "postgresql"])
def test_a_killed_server_comes_back_with_what_was_committed(run: type[Server]) -> None:
    with run() as server:
        url = server.create_database()
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE t (n INTEGER)"))
            connection.execute(sa.text("INSERT INTO t VALUES (7)"))
        server.kill()
        with pytest.raises(sa.exc.OperationalError):
            answers(url)
        server.start()
        with engine.begin() as connection:
            assert connection.execute(sa.text("SELECT n FROM t")).scalar() == 7
        server.drop_database(url)
        folder = server.folder
    assert not folder.exists()


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_database_of_its_own_for_programs_outside_pytest(kind: str) -> None:
    with new_database(kind) as url:
        assert answers(url)
    with pytest.raises(sa.exc.OperationalError):
        answers(url)
