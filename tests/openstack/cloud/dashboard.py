"""Installs Blazar's dashboard in Horizon, as its page of installation says, and Horizon's static files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.openstack.cloud.home import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SETTINGS = CHECKOUT / "tests" / "openstack" / "dashboard" / "local_settings.py"
_STAMP = "leasehold-settings"


def set_up(venv: Path, packages: Path, run: Callable[..., None]) -> None:
    """Give Horizon its settings and the dashboard's panels, and make its static files, unless that is done."""
    stamp = venv / _STAMP
    if stamp.exists() and stamp.read_text() == _SETTINGS.read_text():
        return
    local = packages / "openstack_dashboard" / "local"
    shutil.copyfile(_SETTINGS, local / "local_settings.py")
    for panel in (packages / "blazar_dashboard" / "enabled").glob("_9*.py"):
        shutil.copyfile(panel, local / "enabled" / panel.name)
    for command in (("collectstatic", "--noinput", "--verbosity", "0"), ("compress", "--force")):
        run(str(venv / "bin" / "python"), "-m", "django", *command, "--settings", "openstack_dashboard.settings")
    stamp.write_text(_SETTINGS.read_text())
