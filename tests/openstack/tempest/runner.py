"""Runs tempest in a separate folder and reads the results."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.openstack.cloud import CloudError
from tests.openstack.cloud.configuration.common import write
from tests.openstack.tempest.configuration import tempest_conf
from tests.openstack.tempest.proxy import serving
from tests.openstack.tempest.results import Results, read_results
from tests.openstack.tempest.stock import empty, enrol_hosts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud

_PLUGIN = "blazar_tempest_plugin.tests"
_SUITES = {"api": rf"^{_PLUGIN}\.api", "scenario": rf"^{_PLUGIN}\.scenario"}


def run(cloud: RunningCloud, what: str) -> Results:
    """Run a suite, "api" or "scenario", or the tests whose names match; empties the reservation service first.

    The API tests need a service without hosts. All other tests need all hosts enrolled, because they expect that no
    server starts without a reservation. Raises CloudError when no test could run.
    """
    if cloud.endpoint("reservation") is None:
        raise CloudError("The catalogue names no reservation service. Start one, and set its endpoint first.")
    workspace = _workspace(cloud)
    regex = _SUITES.get(what, what)
    is_api = _wants_no_hosts(_list(cloud, workspace, regex))
    admin = cloud.connection()
    empty(admin)
    if not is_api:
        enrol_hosts(admin)
    with serving(_routes(cloud)) if is_api else contextlib.nullcontext():
        results = _run(cloud, workspace, regex)
    try:
        # Leave hosts on which any project's servers may run.
        empty(admin)
    except CloudError as error:
        raise CloudError(f"{results.report()}\n\nAfterwards: {error}") from error
    return results


def _list(cloud: RunningCloud, workspace: Path, regex: str) -> list[str]:
    """Return the names of the tests that match; raises CloudError when none does."""
    result = _tempest(cloud, workspace, "run", "--list-tests", "--regex", regex)
    names = [line for line in result.stdout.decode(errors="replace").split() if line.startswith(_PLUGIN)]
    if not names:
        raise CloudError(f"No test of the plugin matches {regex!r}.\n{result.stderr.decode(errors='replace')}")
    return names


def _wants_no_hosts(names: list[str]) -> bool:
    kinds = {name.startswith(f"{_PLUGIN}.api") for name in names}
    if len(kinds) > 1:
        raise CloudError("Some of these are API tests, and some are not; they cannot run together. Choose one kind.")
    return kinds == {True}


def _routes(cloud: RunningCloud) -> dict[str, str]:
    """Return the servers' URLs without the versions, which are in the requested paths."""
    routes = {}
    for name in ("reservation", "compute"):
        address = urlsplit(cloud.endpoint(name) or "")
        routes[name] = f"{address.scheme}://{address.netloc}"
    return routes


def _workspace(cloud: RunningCloud) -> Path:
    folder = cloud.site.home.root / "tempest"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    workspace = folder / "workspace"
    result = _tempest(cloud, folder, "init", str(workspace))
    if result.returncode != 0:
        raise CloudError(f"tempest cannot make its folder:\n{result.stderr.decode(errors='replace')}")
    write(workspace / "etc" / "tempest.conf", tempest_conf(cloud, workspace))
    return workspace


def _run(cloud: RunningCloud, workspace: Path, regex: str) -> Results:
    # One at a time, as in the plugin's own CI, because the tests count resources.
    result = _tempest(cloud, workspace, "run", "--concurrency", "1", "--regex", regex, "--subunit")
    stream = workspace / "results.subunit"
    stream.write_bytes(result.stdout)
    results = read_results(cloud.venv("tempest"), stream)
    if not results.tests:
        raise CloudError(f"tempest ran none of its tests:\n{result.stderr.decode(errors='replace')}")
    return results


def _tempest(cloud: RunningCloud, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    programs = cloud.venv("tempest") / "bin"
    # tempest records its workspaces in the home folder, and this one is temporary.
    environment = {"PATH": f"{programs}:{os.defpath}", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    command = [str(programs / "tempest"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
