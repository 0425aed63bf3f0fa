"""The filter's own complete suite, in the environment of the cloud's Nova."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.openstack.cloud.home import FILTER

if TYPE_CHECKING:
    from tests.openstack.cloud import RunningCloud


def test_the_filters_suite_passes_beside_nova(cloud: RunningCloud) -> None:
    python = cloud.venv("openstack") / "bin" / "python"
    done = subprocess.run(
        [str(python), "-m", "pytest", "-p", "no:cacheprovider", str(FILTER / "tests")],
        cwd=FILTER,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # The suite skips this module where it finds no Nova, so check that it ran.
    assert "test_filter.py" in done.stdout
    assert "skipped" not in done.stdout
