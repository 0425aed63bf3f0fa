"""OpenStack's command line with our commands: beside Blazar's client, and without it (decision 0066)."""

from __future__ import annotations

import sysconfig
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import leasehold_client
from client.tests.booking import booked

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow

BLAZARS = ("blazarclient", "python_blazarclient")
PROGRAM = "import sys; from openstackclient.shell import main; sys.exit(main())"


@pytest.fixture
def both(shell: Shell) -> Shell:
    """Return OpenStack's command line in the environment of the tests, where both clients are installed."""
    assert find_spec("blazarclient")
    return replace(shell, program=("openstack", "reservation"))


@pytest.fixture
def ours_alone(shell: Shell, tmp_path: Path) -> Shell:
    """Return OpenStack's command line in an environment with all of the same packages but Blazar's client."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(BLAZARS) and entry.suffix != ".pth":
            (tmp_path / entry.name).symlink_to(entry)
    source = Path(leasehold_client.__file__).parent
    (tmp_path / source.name).symlink_to(source)
    program = tmp_path / "bin" / "openstack"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    # Without -S the folder of the tests' own packages would be on the path as well.
    alone = replace(shell, program=("python", "-S", str(program), "reservation"))
    return alone.with_environ(PYTHONPATH=str(tmp_path))


def test_beside_blazars_client_its_commands_stay_its_own_and_nothing_warns(both: Shell, client: Client) -> None:
    booked(client, "mine", timedelta(days=1))
    listed = both.ok("lease", "list", "-f", "json")
    assert set(listed.json[0]) == {"id", "name", "start_date", "end_date"}
    assert "duplicate" not in listed.err
    # The one line that Blazar's client itself causes.
    assert [line for line in listed.err.splitlines() if "reservation_host_unset" not in line] == []


def test_beside_blazars_client_the_new_commands_are_there(both: Shell, client: Client) -> None:
    lease = booked(client, "mine", timedelta(days=1))
    assert both.ok("lease", "extend", "mine", "--for", "2h", "-f", "json").json["name"] == "mine"
    assert client.leases.get(lease.id).end == lease.end + timedelta(hours=2)
    assert "lease.create" in both.ok("lease", "events", lease.id).out
    assert "cmp-01" in both.ok("calendar", "--ascii").out


def test_without_blazars_client_all_commands_are_ours(ours_alone: Shell, client: Client) -> None:
    said = ours_alone.ok("lease", "create", "mine", "--hosts", "1", "--from", "in 1 d", "--for", "3h", "-f", "json")
    assert said.json["what"] == "1 host"
    assert said.err == ""
    assert [row["name"] for row in ours_alone.ok("lease", "list", "-f", "json").json] == ["mine"]
    assert ours_alone.ok("host", "unset", "cmp-01", "--extra", "none-such").status == 0
    refused = ours_alone("lease", "create", "many", "--hosts", "12", "--from", "in 1 d", "--for", "3h")
    assert "  openstack reservation lease create many --from " in refused.err
    shown = ours_alone.ok("lease", "extend", "mine", "--for", "1h", "-f", "json")
    assert shown.json["name"] == "mine"
