"""The distributions of a release, and what `pyproject.toml` of each says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from tests.test_house import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROJECTS = {
    "leasehold": ".",
    "leasehold-client": "client",
    "leasehold-console": "console",
    "leasehold-nova": "nova-filter",
}
"""The folders of the distributions, by their names."""


def declared(name: str) -> dict[str, Any]:
    """Return the section `project` of a distribution."""
    text = (ROOT / PROJECTS[name] / "pyproject.toml").read_text()
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def build(folder: Path) -> Path:
    """Build all distributions into a folder as `make dist` does, and return it."""
    subprocess.run([sys.executable, ROOT / "tools" / "distributions.py", folder], check=True, capture_output=True)
    return folder
