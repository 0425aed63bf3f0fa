"""Our command lines on the cloud, through Keystone: `leasehold` with its logins, and `openstack reservation`."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import LEASE_WITHIN, MACHINE, Person, nothing_left
from tests.processes import BIN, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud

NAMED = {"auth_url": "OS_AUTH_URL", "username": "OS_USERNAME", "password": "OS_PASSWORD"}
OF_PROJECT = {
    "project_name": "OS_PROJECT_NAME",
    "user_domain_name": "OS_USER_DOMAIN_NAME",
    "project_domain_name": "OS_PROJECT_DOMAIN_NAME",
}

CLAIM = ("published", "offer", "claim", "spare")


@dataclass(frozen=True)
class Shell:
    """A shell of a user: the program that begins each command, and its login in the environment."""

    program: tuple[str, ...]
    environ: Mapping[str, str]

    def run(self, *words: str, status: int = 0) -> str:
        """Run a command and return what it prints; on stderr if it has to fail."""
        done = subprocess.run(
            [BIN / self.program[0], *self.program[1:], *words],
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LEASE_WITHIN + 60,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "-f", "json"))


@pytest.fixture(scope="module")
def admin(cloud: RunningCloud) -> Iterator[Person]:
    """Yield the administrator of a cloud with a new Leasehold and every compute enrolled by our own command line."""
    with running_leasehold(cloud, "command_line"):
        person = Person(cloud, "admin")
        shell = with_password(person)
        with nothing_left(person), ExitStack() as undo:
            for name in cloud.computes:
                shell.run("host", "create", name)
                undo.callback(shell.run, "host", "delete", name)
            yield person


def with_password(person: Person) -> Shell:
    """Return `leasehold` with the variables of an openrc file, as Keystone's users have it."""
    return Shell(("leasehold",), {**MACHINE, **person.cloud.variables(person.name)})


def with_clouds_yaml(person: Person, folder: Path) -> Shell:
    """Return `leasehold` with a cloud of a clouds.yaml, and no password in its environment."""
    variables = person.cloud.variables(person.name)
    auth = {key: variables[name] for key, name in {**NAMED, **OF_PROJECT}.items() if name in variables}
    file = folder / "clouds.yaml"
    # JSON is YAML as well.
    file.write_text(json.dumps({"clouds": {"lab": {"auth": auth, "region_name": variables["OS_REGION_NAME"]}}}))
    rest = {key: value for key, value in MACHINE.items() if key != "OS_AUTH_TYPE"}
    return Shell(("leasehold",), {**rest, "OS_CLIENT_CONFIG_FILE": str(file), "OS_CLOUD": "lab"})


def in_openstacks(person: Person) -> Shell:
    """Return the same commands in OpenStack's command line, where Blazar's client is installed as well."""
    return Shell(("openstack", "reservation"), {**MACHINE, **person.cloud.variables(person.name)})


def aggregate(admin: Person, reservation: str) -> Any:
    return admin.sdk.compute.find_aggregate(reservation, ignore_missing=False)


@pytest.fixture(params=["openrc", "clouds.yaml"])
def shell(admin: Person, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """Return the program of a member of a project, with one of the logins."""
    demo = Person(admin.cloud, "demo")
    return with_password(demo) if request.param == "openrc" else with_clouds_yaml(demo, tmp_path)


def test_a_member_finds_leases_extends_and_deletes(admin: Person, shell: Shell) -> None:
    with nothing_left(admin):
        free = shell.json("availability", "--for", "1h")
        assert free[0]["free"] == len(admin.cloud.computes)
        made = shell.json("lease", "create", "mine", "--hosts", "1", "--for", "30m", "--wait")
        assert (made["status"], made["what"]) == ("ACTIVE", "1 host")
        assert aggregate(admin, made["reservations"][0]["id"]).hosts
        shown = shell.json("lease", "show", "mine")
        extended = shell.json("lease", "extend", "mine", "--for", "30m")
        assert extended["end_date"] > shown["end_date"]
        (held,) = shell.json("lease", "resources", "mine")
        assert (held["resource_type"], held["name"]) == ("physical:host", None)
        assert [row["name"] for row in shell.json("lease", "list")] == ["mine"]
        assert "lease.event.start_lease" in shell.run("lease", "events", "mine")
        assert "Policy blazar:oshosts:get" in shell.run("host", "list", status=1)
        shell.run("lease", "delete", "mine")
        wait_for(lambda: shell.json("lease", "list") == [], within=LEASE_WITHIN)


def test_with_an_application_credential_and_with_a_token(admin: Person) -> None:
    """What keystoneauth can log in with is named by `OS_AUTH_TYPE`, and needs nothing of ours."""
    demo = Person(admin.cloud, "demo")
    variables, identity = demo.cloud.variables(demo.name), demo.sdk.identity
    user = demo.sdk.current_user_id
    credential = identity.create_application_credential(user=user, name="command line")
    common = {**MACHINE, "OS_AUTH_URL": variables["OS_AUTH_URL"], "OS_REGION_NAME": variables["OS_REGION_NAME"]}
    ways = (
        {
            "OS_AUTH_TYPE": "v3applicationcredential",
            "OS_APPLICATION_CREDENTIAL_ID": credential.id,
            "OS_APPLICATION_CREDENTIAL_SECRET": credential.secret,
        },
        {"OS_AUTH_TYPE": "v3token", "OS_TOKEN": demo.sdk.auth_token, "OS_PROJECT_ID": demo.sdk.current_project_id},
    )
    try:
        for way in ways:
            shell = Shell(("leasehold",), {**common, **way})
            assert shell.json("availability", "--for", "1h")[0]["free"] == len(admin.cloud.computes)
    finally:
        identity.delete_application_credential(user, credential)


def test_an_administrator_sees_hosts_and_the_calendar(admin: Person) -> None:
    shell = with_password(admin)
    names = {row["hypervisor_hostname"] for row in shell.json("host", "list")}
    assert names == set(admin.cloud.computes)
    drawn = shell.run("calendar", "--for", "6h", "--ascii")
    assert all(name[:10] in drawn for name in names)


def test_hosts_of_a_lease_are_offered_claimed_used_and_come_back(admin: Person) -> None:
    demo, alt = Person(admin.cloud, "demo"), Person(admin.cloud, "alt")
    lender, claimer = with_password(demo), with_password(alt)
    nano = str(admin.sdk.compute.find_flavor("m1.nano", ignore_missing=False).id)
    with nothing_left(admin):
        lease = lender.json("lease", "create", "term", "--hosts", "2", "--for", "1h", "--wait")
        pool = lease["reservations"][0]["id"]
        hosts = set(aggregate(admin, pool).hosts)
        server = demo.boot(nano, pool)
        assert demo.outcome(server) == "ACTIVE"
        to = ("--for-project", alt.sdk.current_project_id)
        lender.run("lease", "sublease", "offer", "term", "spare", "--hosts", "2", *to)
        # On the other one the lender's server runs.
        assert "1 of the offered hosts can be claimed" in claimer.run(*CLAIM, "--hosts", "2", status=1)
        claimed = claimer.json(*CLAIM)
        part = alt.lease_with_status(claimed["id"], "ACTIVE")["reservations"][0]["id"]
        theirs = alt.boot(nano, part)
        assert alt.outcome(theirs) == "ACTIVE"
        assert {admin.sdk.compute.get_server(each).compute_host for each in (server, theirs)} == hosts
        lender.run("published", "offer", "delete", "spare")
        wait_for(lambda: set(aggregate(admin, pool).hosts) == hosts, within=LEASE_WITHIN)
        assert (server in demo.servers(), theirs in alt.servers()) == (True, False)
        lender.run("lease", "delete", "term")
        wait_for(lambda: lender.json("lease", "list") == [], within=LEASE_WITHIN)


def test_in_openstacks_command_line(admin: Person) -> None:
    with nothing_left(admin):
        demo = Person(admin.cloud, "demo")
        shell, ours = in_openstacks(demo), with_password(demo)
        made = ours.json("lease", "create", "mine", "--hosts", "1", "--for", "30m", "--wait")
        assert shell.json("lease", "extend", "mine", "--for", "30m")["id"] == made["id"]
        assert "lease.event.start_lease" in shell.run("lease", "events", "mine")
        assert shell.json("availability", "--for", "1h")[0]["reserved"] == 1
        # Blazar's own command, which answers for the lease that ours has made.
        assert [row["name"] for row in shell.json("lease", "list")] == ["mine"]
        ours.run("lease", "delete", "mine")
        wait_for(lambda: ours.json("lease", "list") == [], within=LEASE_WITHIN)


def test_a_wrong_password_is_a_sentence(admin: Person) -> None:
    shell = with_password(Person(admin.cloud, "demo"))
    wrong = Shell(shell.program, {**shell.environ, "OS_PASSWORD": "wrong"})
    said = wrong.run("lease", "list", status=1)
    assert "401" in said
    assert "Traceback" not in said
