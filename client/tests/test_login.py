"""The ways to log in: a password, clouds.yaml, and what is said without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from client.tests.conftest import Shell
from tests.processes import BIN, running
from tests.servers import free_port
from tests.users import users_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from client.tests.conftest import Inside

PASSWORD = "correct horse"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service whose users have passwords."""
    folder = tmp_path_factory.mktemp("closed")
    users = users_file(
        folder, {"admin": f"{PASSWORD}:demo:admin,member,reader", "bob": f"{PASSWORD}:alt:member,reader"}
    )
    api = {"auth_strategy": "http_basic", "users_file": users}
    database = f"sqlite:///{folder}/leasehold.db"
    with running("leasehold-standalone", database_url=database, options={"api": api}) as program:
        yield program.url


def nobody(folder: Path) -> Shell:
    """Return the shell of somebody who has configured nothing."""
    return Shell({"HOME": str(folder), "PATH": f"{BIN}:/usr/bin:/bin", "COLUMNS": "300"})


def test_a_password(closed: str, tmp_path: Path) -> None:
    login = {"OS_ENDPOINT": closed, "OS_USERNAME": "admin"}
    shell = nobody(tmp_path).with_environ(**login)
    assert shell.with_environ(OS_PASSWORD=PASSWORD).ok("host", "list").status == 0
    wrong = shell.with_environ(OS_PASSWORD="wrong")("host", "list")
    assert (wrong.status, wrong.err.startswith("The user name or the password is wrong")) == (1, True)


def test_who_may_not_list_hosts_has_a_calendar_of_how_many_are_free(closed: str, tmp_path: Path) -> None:
    login = {"OS_ENDPOINT": closed, "OS_USERNAME": "bob", "OS_PASSWORD": PASSWORD}
    bob = nobody(tmp_path).with_environ(**login)
    assert bob("host", "list").status == 1
    lines = bob.ok("calendar", "--for", "1d").out.splitlines()
    (row,) = [line for line in lines if line.startswith("hosts ")]
    assert set(row.removeprefix("hosts ")) == {"+"}
    # By what to choose is for everybody.
    assert "gpu_model" in bob.ok("property", "list").out
    assert bob("availability", "--properties", "hypervisor_hostname=cmp-01").status == 1


def test_a_cloud_of_clouds_yaml_and_an_endpoint_without_v1(closed: str, tmp_path: Path) -> None:
    (tmp_path / "clouds.yaml").write_text(
        "clouds:\n  lab:\n    auth_type: http_basic\n    auth:\n"
        f"      endpoint: {closed.removesuffix('/v1')}\n      username: admin\n      password: correct horse\n"
    )
    shell = nobody(tmp_path).with_environ(OS_CLIENT_CONFIG_FILE=str(tmp_path / "clouds.yaml"))
    assert "cmp-01" in shell.ok("--os-cloud", "lab", "host", "list").out
    unknown = shell("--os-cloud", "none-such", "host", "list")
    assert (unknown.status, "none-such" in unknown.err) == (1, True)


def test_without_a_login_the_ways_to_log_in_are_said(tmp_path: Path) -> None:
    said = nobody(tmp_path)("lease", "list")
    assert said.status == 1
    assert said.err.startswith("Say where the service is: export OS_AUTH_TYPE=none OS_ENDPOINT=")
    incomplete = nobody(tmp_path).with_environ(OS_AUTH_TYPE="http_basic")("lease", "list")
    assert (incomplete.status, "Traceback" in incomplete.err) == (1, False)


def test_a_service_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = nobody(tmp_path).with_environ(OS_ENDPOINT=url)("lease", "list")
    assert said.err == f"Nothing answers at {url}. Is the service running, and is the endpoint right?\n"
    assert said.status == 1


def test_help_and_completion_need_no_login(tmp_path: Path) -> None:
    shell = nobody(tmp_path)
    assert "lease create" in shell.ok().out
    for name in ("bash", "zsh", "fish"):
        assert "extend" in shell.ok("complete", "--shell", name).out


def test_where_nobody_asks_for_a_password_one_can_be_somebody_else(inside: Inside) -> None:
    """Two projects of the sandbox, one of which lends what it has leased."""
    inside.ok("lease", "create", "lent", "--hosts", "2", "--for", "2h", "--wait")
    inside.ok("lease", "sublease", "offer", "lent", "spare", "--hosts", "1", "--until", "in 1 h")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"OS_PROJECT_ID": "alt", "OS_USERNAME": "bob", "OS_ROLES": "member"}.items():
            patch.setenv(name, value)
        patch.delenv("OS_AUTH_TYPE")
        assert inside("host", "list").status == 1
        claimed = inside.ok("published", "offer", "claim", "spare", "--name", "borrowed", "-f", "json").json
        assert (claimed["project_id"], claimed["user_id"]) == ("alt", "bob")
    eve = ("--os-project-id", "alt", "--os-username", "eve", "--os-roles", "member")
    listed = inside.ok(*eve, "lease", "list", "--long", "-f", "json").json
    assert [(each["name"], each["project_id"], each["user_id"]) for each in listed] == [("borrowed", "alt", "bob")]
    inside.ok(*eve, "lease", "delete", "borrowed")


def test_an_empty_table_says_so(inside: Inside) -> None:
    assert inside.ok("lease", "list").err == "There is nothing to list.\n"
    assert inside.ok("lease", "list", "-f", "json").json == []
    assert inside.ok("audit", "show").err.endswith("differs between the cloud and the database.\n")
