"""Copies of data directories right after the first seeding, so that a fresh cloud starts as fast as an old one."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.openstack.cloud.home import PASSWORD
from tests.openstack.cloud.install import requirements_checksum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.openstack.cloud.home import Home

_SOURCES = ("accounts.py", "contents.py", "databases.py", "schemas.py")
# Written last: a folder without it is incomplete. It holds the key of the contents, and the ports that their catalogue
# names.
_SEEDED = "seeded.json"


def contents_key(home: Home) -> str:
    """Return a checksum of all inputs of the data directory, including its path, which locations of images contain."""
    parts = [str(home.data), PASSWORD, requirements_checksum("openstack")]
    parts += [Path(__file__).with_name(name).read_text() for name in _SOURCES]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def seeded_ports(home: Home) -> dict[str, int] | None:
    """Return the ports in the catalogue; None when the data directory is missing, or of another version."""
    try:
        seeded = json.loads((home.data / _SEEDED).read_text())
    except FileNotFoundError:
        return None
    ports: dict[str, int] = seeded["ports"]
    return ports if seeded["key"] == contents_key(home) else None


def mark_seeded(home: Home, ports: Mapping[str, int]) -> None:
    (home.data / _SEEDED).write_text(json.dumps({"key": contents_key(home), "ports": dict(ports)}))


def save(home: Home) -> None:
    """Store the data directory of a stopped cloud as the template; removes older templates."""
    shutil.rmtree(home.templates, ignore_errors=True)
    home.templates.mkdir(parents=True)
    making = home.templates / "making"
    _copy(home.data, making)
    making.rename(_template(home))


def restore(home: Home) -> bool:
    """Create the data directory from the template; False when there is none for these versions."""
    discard(home)
    if not _template(home).exists():
        return False
    making = home.data.with_name("data-making")
    shutil.rmtree(making, ignore_errors=True)
    _copy(_template(home), making)
    making.rename(home.data)
    return True


def discard(home: Home) -> None:
    shutil.rmtree(home.data, ignore_errors=True)


def _template(home: Home) -> Path:
    return home.templates / contents_key(home)


def _copy(source: Path, target: Path) -> None:
    # cp, because it shares the blocks where the file system can.
    subprocess.run(["cp", "--archive", "--reflink=auto", str(source), str(target)], check=True)
