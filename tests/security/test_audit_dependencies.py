"""The audit of the dependencies fails on every finding, and reports what it could not check."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers import free_port
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.serving import Asked

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
HASH = f"--hash=sha256:{'0' * 64}"
WELL_KNOWN = ("jinja2", "2.4.1")
NOBODY = "NOT AUDITED: no package was looked up for vulnerabilities"


def vulnerability(name: str, mended: str) -> dict[str, Any]:
    """Return a vulnerability in OSV's format."""
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": mended}]}]
    package = {"name": name, "ecosystem": "PyPI"}
    return {
        "id": f"PYSEC-2031-{len(name)}",
        "summary": "It can be had.",
        "details": "It can be had.",
        "published": "2031-01-01T00:00:00Z",
        "modified": "2031-01-01T00:00:00Z",
        "affected": [{"package": package, "ranges": ranges}],
    }


@contextmanager
def service(known: Mapping[tuple[str, str], str], *, status: int = 200, breaks_at: str = "") -> Iterator[str]:
    """Run a vulnerability service and yield its URL; `known` maps a name and version to the fixed version."""

    def answer(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        question = json.loads(asked.body)
        name, version = question["package"]["name"], question["version"]
        mended = known.get((name, version))
        content = {} if mended is None else {"vulns": [vulnerability(name, mended)]}
        return 500 if name == breaks_at else status, {"Content-Type": "application/json"}, json.dumps(content).encode()

    with serving(answer) as url:
        yield f"{url}/v1/query"


def audit(folder: Path, url: str, *checks: str) -> subprocess.CompletedProcess[str]:
    tool = ROOT / "tools" / "audit_dependencies.py"
    command = [sys.executable, str(tool), "--requirements", str(folder), "--osv-url", url, *checks]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two pinned requirements."""
    (tmp_path / "runtime.txt").write_text(f"first==1.0 \\\n    {HASH}\n    # via nobody\nsecond==2.0 {HASH}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("version", "code", "said"),
    [
        ("2.0", 1, "second 2.0 is vulnerable: PYSEC-2031-6, fixed in 2.1."),
        ("1.9", 0, "Dependencies: pins, vulnerabilities: nothing to do."),
    ],
)
def test_a_known_vulnerability_of_a_pinned_version_is_red(folder: Path, version: str, code: int, said: str) -> None:
    with service({WELL_KNOWN: "2.7", ("second", version): "2.1"}) as url:
        done = audit(folder, url, "pins", "vulnerabilities")
    assert (done.returncode, done.stdout) == (code, f"{said}\n"), done.stderr


@pytest.mark.parametrize("how", ["away", "knows nothing", "fails", "breaks off"])
def test_a_service_that_cannot_tell_is_told_of_and_the_rest_decides(folder: Path, how: str) -> None:
    known = {} if how == "knows nothing" else {WELL_KNOWN: "2.7"}
    broken = {"fails": {"status": 503}, "breaks off": {"breaks_at": "second"}}
    with service(known, **broken.get(how, {})) as url:  # type: ignore[arg-type]
        where = f"http://127.0.0.1:{free_port()}/v1/query" if how == "away" else url
        done = audit(folder, where, "pins", "vulnerabilities")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len([line for line in done.stdout.splitlines() if line.startswith(NOBODY)]) == 1
        with (folder / "runtime.txt").open("a") as file:
            file.write("third>=1\n")
        assert audit(folder, where, "pins", "vulnerabilities").returncode == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("third>=1", "is not pinned to one version"),
        ("third==1.*", "is not pinned to one version"),
        ("third", "is not pinned to one version"),
        (f"third @ https://packages.example/third.tar.gz {HASH}", "is not pinned to one version"),
        ("third==1.0", "has no hash"),
    ],
)
def test_what_is_not_pinned_is_red(folder: Path, line: str, problem: str) -> None:
    with (folder / "runtime.txt").open("a") as file:
        file.write(f"{line}\n")
    done = audit(folder, "http://127.0.0.1:1/", "pins")
    assert done.returncode == 1
    assert problem in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_what_is_installed_and_not_pinned_is_red_and_the_other_way_round(folder: Path) -> None:
    done = audit(folder, "http://127.0.0.1:1/", "installed")
    assert done.returncode == 1
    assert "first 1.0 is pinned, and nothing installed" in done.stdout
    assert "is installed and not pinned" in done.stdout


def test_what_this_tree_depends_on_is_in_order() -> None:
    """Runs all checks but those that ask a service, whose answers may change from day to day."""
    done = audit(ROOT / "requirements", "http://127.0.0.1:1/", "pins", "installed", "declared", "licences")
    assert done.returncode == 0, done.stdout + done.stderr
