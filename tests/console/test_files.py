"""What the console is made of: its vendored libraries are those of the lock, and its checks find what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "console" / "src" / "leasehold_console" / "static"


def vendor(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / "tools" / "vendor.py", *words], check=False, capture_output=True, text=True
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the script, its lock and its folders."""
    lock = json.loads((ROOT / "tools" / "vendor.json").read_text())
    for name in ("tools/vendor.py", "tools/vendor.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in lock["folders"]:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def locked(root: Path) -> dict[str, Any]:
    lock: dict[str, Any] = json.loads((root / "tools" / "vendor.json").read_text())
    return lock


def test_what_differs_from_the_lock_is_named(copy: Path) -> None:
    assert vendor(copy).returncode == 0
    first, second, *_ = [copy / name for name in locked(copy)["files"]]
    first.write_bytes(first.read_bytes() + b" ")
    second.unlink()
    (first.parent / "more.js").write_text("alert(1)")
    answer = vendor(copy)
    assert answer.returncode == 1
    assert f"{first.relative_to(copy)} is not the file of" in answer.stdout
    assert f"{second.relative_to(copy)} is missing" in answer.stdout
    assert "more.js is not in" in answer.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed: tools/bootstrap check")
def test_the_packages_give_exactly_what_is_here(copy: Path) -> None:
    answer = vendor(copy, "compare")
    assert (answer.returncode, answer.stdout) == (0, ""), answer.stderr
    lock = locked(copy)
    lock["packages"][0]["integrity"] = lock["packages"][1]["integrity"]
    (copy / "tools" / "vendor.json").write_text(json.dumps(lock))
    refused = vendor(copy, "compare")
    assert refused.returncode == 1
    assert "has the integrity" in refused.stderr


def test_no_file_has_a_script_or_a_style_inside() -> None:
    page = (STATIC / "index.html").read_text()
    assert "<style" not in page
    assert page.count("<script") == page.count('<script type="module" src="') == 1
    for module in STATIC.rglob("*.mjs"):
        text = module.read_text()
        assert "sourceMappingURL" not in text, module
        if "vendor" not in module.parts:
            assert ' style="' not in text, f"{module}: a style attribute is refused by the policy; use a class."


def test_every_licence_is_there() -> None:
    for folder in locked(ROOT)["folders"]:
        text = (ROOT / folder / "LICENSES").read_text()
        taken = [each for each in locked(ROOT)["packages"] if each["folder"].startswith(folder)]
        assert taken
        assert all(f"{each['name']} {each['version']} ({each['licence']})" in text for each in taken)
