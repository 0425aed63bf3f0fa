"""Slurm from Debian's packages, unpacked into a folder of the cache: nothing of the machine changes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.servers import ServerMissingError

PACKAGES: Final = ("slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libslurm38", "libslurm-dev", "libmunge2")
CACHE: Final = Path.home() / ".cache" / "leasehold" / "slurm"
_DONE: Final = "unpacked"


def unpacked() -> Path:
    """Return the folder of the unpacked packages; raises ServerMissingError where they cannot be had."""
    if not (CACHE / _DONE).exists():
        apt, dpkg = (shutil.which(name) for name in ("apt-get", "dpkg-deb"))
        if apt is None or dpkg is None:
            raise ServerMissingError(f"Slurm is taken from Debian's packages: {', '.join(PACKAGES)}")
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="slurm-", dir=CACHE.parent) as folder:
            _unpack(Path(folder), apt, dpkg)
    return CACHE


def _unpack(folder: Path, apt: str, dpkg: str) -> None:
    """Download and unpack in a new folder, and rename it at last, so that half of them are never found."""
    fetched = subprocess.run([apt, "download", *PACKAGES], cwd=folder, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        raise ServerMissingError(f"Slurm's packages cannot be downloaded: {fetched.stderr.strip()}")
    root = folder / "root"
    for package in sorted(folder.glob("*.deb")):
        subprocess.run([dpkg, "-x", package, root], check=True)
    (root / _DONE).touch()
    shutil.rmtree(CACHE, ignore_errors=True)
    root.rename(CACHE)


def header(root: Path, name: str) -> str:
    """Return the text of a header of Slurm."""
    return (root / "usr" / "include" / "slurm" / name).read_text(encoding="utf-8")


def library(root: Path, name: str) -> Path:
    """Return the file or the folder of this name among the libraries, whatever the architecture is called."""
    return next((root / "usr" / "lib").glob(f"*/{name}"))
