"""`leasehold-manage` and `leasehold-status` as an operator runs them: their output and exit codes."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import bcrypt
import pytest
from sqlalchemy import delete, insert, inspect

from leasehold.api.auth.users import read_users
from leasehold.cmd import manage, status
from leasehold.cmd.database import URL_VARIABLE
from leasehold.cmd.state import STATE_VARIABLE, state_database
from leasehold.db import schema
from leasehold.db.engine import writing
from leasehold.db.event_log import each_event
from leasehold.db.tables import allocations, lease_states, leases, outbox, reservations, tasks
from leasehold.db.tables import events as events_table
from leasehold.features.subscription.webhook import as_cloud_event
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.event_log import EventFilter
from tests.databases import opened
from tests.factory import (
    START,
    Clock,
    hosts,
    instances,
    make_schema,
    make_service,
    open_service,
    run_manager,
    run_until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leasehold.model.lease import Lease

    Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.slow


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command in an empty folder and returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(URL_VARIABLE, raising=False)

    def run_it(*arguments: str, program: Callable[[Sequence[str]], int] = manage.run) -> tuple[int, str, str]:
        try:
            code = program(arguments)
        except SystemExit as left:
            code = int(left.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_it


@pytest.fixture
def url(database_url: str) -> str:
    """Return the URL of a database whose schema is up to date."""
    with opened(database_url) as engine:
        schema.upgrade(engine)
    return database_url


@pytest.fixture
def empty_url(database_url: str) -> str:
    """Return the URL of an existing database without tables; an SQLite file appears when it is opened."""
    with opened(database_url) as engine:
        engine.connect().close()
    return database_url


def test_upgrade_makes_the_schema_and_says_so_and_twice_is_fine(run: Run, database_url: str) -> None:
    where = ("--database-url", database_url)
    assert run(*where, "db", "upgrade") == (0, f"The schema is {schema.head()}.\n", "")
    assert run(*where, "db", "upgrade") == (0, f"The schema is {schema.head()}, as it was.\n", "")
    assert run(*where, "db", "current") == (0, f"{schema.head()}\n", "")
    code, said, _ = run(*where, "db", "check")
    assert code == 0
    assert schema.head() in said
    with opened(database_url) as engine:
        assert inspect(engine).has_table("leases")
    assert run(*where, "purge", "--older-than", "30") == (0, "There is nothing to remove.\n", "")


def test_history_lists_the_revisions_and_needs_no_database(run: Run) -> None:
    code, said, _ = run("db", "history")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == list(schema.revisions())


def test_the_database_may_be_named_after_the_command_or_by_the_environment_or_the_configuration(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = min(schema.revisions())
    for number in range(4):
        assert run("db", "upgrade", "--database-url", f"sqlite:///{tmp_path}/{number}.db")[0] == 0
        if number < 3:
            with opened(f"sqlite:///{tmp_path}/{number}.db") as engine:
                schema.downgrade(engine, first)
    (tmp_path / "leasehold.conf").write_text(f"[database]\nconnection = sqlite:///{tmp_path}/0.db\n")
    (tmp_path / "other.conf").write_text(f"[database]\nconnection = sqlite:///{tmp_path}/3.db\n")
    assert run("db", "current")[1] == f"{first}\n"
    assert run("db", "current", "--config-file", str(tmp_path / "other.conf"))[1] == f"{schema.head()}\n"
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path}/3.db")
    assert run("db", "current")[1] == f"{schema.head()}\n"
    assert run("db", "current", "--database-url", f"sqlite:///{tmp_path}/2.db")[1] == f"{first}\n"


def test_the_sandbox_has_its_commands_here(run: Run, tmp_path: Path) -> None:
    where = ("--database-url", f"sqlite:///{tmp_path}/leasehold.db")
    assert run(*where, "db", "upgrade")[0] == 0
    assert run(*where, "sandbox", "plant")[0] == 0
    code, said, _ = run(*where, "sandbox", "hosts")
    assert code == 0
    assert "cmp-01" in said


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "Write it as sqlite"),
        ("oracle://scott:tiger@host/db", "Write it as sqlite"),
        ("sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("mysql+pymysql://someone:tiger@127.0.0.1:1/books", "mysql+pymysql://someone:***@127.0.0.1:1/books"),
        ("postgresql+psycopg://someone:tiger@127.0.0.1:1/books", "postgresql+psycopg://someone:***@127.0.0.1:1/books"),
    ],
)
def test_a_database_that_cannot_be_used_is_a_sentence_without_its_password(run: Run, url: str, says: str) -> None:
    code, said, error = run("db", "upgrade", "--database-url", url)
    assert (code, said) == (1, "")
    assert error.startswith("leasehold-manage: ")
    assert error.count("\n") == 1
    assert says in error
    assert "tiger" not in error


@pytest.mark.parametrize(
    "command", [("db", "current"), ("db", "check"), ("purge", "--older-than", "30"), ("record",), ("audit",)]
)
def test_a_mistyped_file_is_not_made(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, _, error = run(*command, "--database-url", f"sqlite:///{tmp_path}/mistyped.db")
    assert code == 1
    assert "leasehold-manage db upgrade" in error
    assert not (tmp_path / "mistyped.db").exists()


@pytest.mark.parametrize("command", [("db", "check"), ("purge", "--older-than", "30"), ("record",), ("audit",)])
def test_a_schema_that_is_not_up_to_date_is_a_sentence_with_the_command_to_run(
    run: Run, empty_url: str, command: tuple[str, ...]
) -> None:
    code, said, error = run(*command, "--database-url", empty_url)
    assert (code, said) == (1, "")
    assert "run leasehold-manage db upgrade" in error


@pytest.mark.parametrize(
    ("command", "says"),
    [
        *((("purge", "--older-than", days), "argument --older-than") for days in ("0", "-1", "a lot", "1e3")),
        *((("record", "--since", text), "argument --since") for text in ("", "now", "0001-01-01T00:00+05:00")),
        *((("record", "--lease", text), "argument --lease") for text in ("", "a\0b", "\udcff")),
        *((("hash-password", name, "demo"), "argument USER") for name in ("", "a:b", "a,b", " a", "a\nb", "#a")),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused_by_name(run: Run, command: tuple[str, ...], says: str) -> None:
    code, _, error = run(*command)
    assert code == 2
    assert says in error


def test_an_age_before_all_calendars_is_a_sentence(run: Run, tmp_path: Path) -> None:
    where = ("--database-url", f"sqlite:///{tmp_path}/leasehold.db")
    run("db", "upgrade", *where)
    code, _, error = run("purge", "--older-than", "999999", *where)
    assert code == 1
    assert "fewer days" in error


def test_a_hashed_password_is_a_line_that_the_api_reads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    code, line, _ = run("hash-password", "alice", "demo", "--role", "member", "--role", "admin")
    assert code == 0
    (tmp_path / "users").write_text(line)
    user = read_users(tmp_path / "users")["alice"]
    assert bcrypt.checkpw(b"correct horse", user.password_hash)
    assert (user.caller.project_id, user.caller.roles) == (
        "demo",
        frozenset({"reader", "member", "manager", "admin"}),
    )


@pytest.mark.parametrize("password", ["", "x" * 73, "ä" * 37])
def test_a_password_that_bcrypt_would_cut_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    code, said, error = run("hash-password", "alice", "demo")
    assert (code, said) == (1, "")
    assert "72 bytes" in error


def test_audit_says_that_all_is_well_or_what_is_not(run: Run, url: str) -> None:
    where = ("--database-url", url)
    assert run(*where, "audit", "--database-only") == (0, "No differences within the database.\n", "")
    with opened(url) as engine, writing(engine) as connection:
        connection.execute(insert(tasks).values(kind="lease", subject="nobody", due_at=None, attempts=0))
    code, said, _ = run(*where, "audit", "--database-only")
    assert (code, said) == (1, "A task is for lease nobody, which does not exist. This is a defect; report it.\n")
    code, said, _ = run(*where, "audit", "--json")
    (found,) = json.loads(said)["findings"]
    assert (code, found["kind"], found["subject"], found["mended"]) == (1, "work", "nobody", None)


def test_audit_names_what_only_a_receiver_still_has(run: Run, url: str, tmp_path: Path) -> None:
    """A crash of a cluster took a lease with all that names it; a webhook has kept its events."""
    where, kept = ("--database-url", url, "audit", "--database-only"), tmp_path / "events"
    # A lease of 2020 is over by the database's clock, and one of 2133 is not.
    with make_service(url, clock=Clock(START - timedelta(hours=100_000)), hosts=("cmp-01", "cmp-02")) as world:
        starts = (900_000, 900_002, 900_004, -99_990)
        lost, stays, deleted, over = (world.lease(hosts(), start=each, end=each + 1) for each in starts)
        world.amend(lost, name="another")
        world.delete(deleted)
        sequence_events(world.service)
        with world.service.db.reading() as connection:
            events = [as_cloud_event(each) for each in each_event(connection, 0, EventFilter(None), 100)]
        for each in (lost, deleted, over):
            for table in (allocations, events_table, reservations, outbox, lease_states):
                world.execute(delete(table).where(table.c.lease_id == each.id))
            world.execute(delete(tasks).where(tasks.c.subject == each.id))
            world.execute(delete(leases).where(leases.c.id == each.id))
    # In any order, and some twice.
    kept.write_bytes(b"\n".join([*reversed(events), *events[:2]]))

    def named(*more: str) -> list[tuple[str, str]]:
        found = json.loads(run(*where, "--json", *more)[1])["findings"]
        return [(each["subject"], each["what"]) for each in found if each["kind"] == "lost"]

    assert named() == []
    ((subject, what),) = named("--received", str(kept))
    assert subject == lost.id != stays.id
    assert "an event at a receiver still names it" in what


_GOOD: dict[str, Any] = {
    "subject": "leases/1",
    "type": "lease.create",
    "time": "2026-11-27T09:00:00+00:00",
    "data": {"lease_id": "1", "project_id": "p", "end_date": "2026-11-27T10:00:00+00:00"},
}


@pytest.mark.parametrize(
    "event",
    [
        *("no JSON", "[]", "{}", "null", '{"subject": 1}'),
        json.dumps({**_GOOD, "data": None}),
        json.dumps({**_GOOD, "time": "2026-11-27T09:00:00"}),
        json.dumps({**_GOOD, "data": {**_GOOD["data"], "end_date": "soon"}}),
        json.dumps({**_GOOD, "data": {**_GOOD["data"], "end_date": 5}}),
    ],
)
def test_audit_says_which_line_is_no_event(run: Run, url: str, tmp_path: Path, event: str) -> None:
    file = tmp_path / "events"
    # A character that ends a line for Python may be in the name of a lease; what is no text is no event of ours.
    odd = {**_GOOD, "data": {**_GOOD["data"], "name": "a\u2028b", "lease_id": ["1"]}}
    file.write_text("\n".join([json.dumps(_GOOD), "", json.dumps(odd, ensure_ascii=False), event]))
    code, _, error = run("--database-url", url, "audit", "--database-only", "--received", str(file))
    assert (code, f"argument --received: line 4 of {file} is no CloudEvent" in error) == (2, True), error


def test_audit_says_that_a_file_cannot_be_read(run: Run, url: str, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name in ("none", "bytes", "."):
        code, _, error = run("--database-url", url, "audit", "--database-only", "--received", str(tmp_path / name))
        assert (code, f"argument --received: {tmp_path / name} cannot be read: " in error) == (2, True), error


def test_audit_without_a_cloud_says_so_and_audits_the_books(run: Run, url: str) -> None:
    where = ("--database-url", url)
    code, said, _ = run(*where, "audit")
    assert code == 3
    assert said.startswith("The cloud was not looked at: No account for the cloud is configured.")
    assert said.endswith("No differences within the database.\n")
    code, said, _ = run(*where, "audit", "--json")
    report = json.loads(said)
    assert (code, report["findings"], report["cloud"]["looked_at"]) == (3, [], False)
    assert report["cloud"]["reason"].startswith("No account")


def test_audit_repairs_and_says_what_is_left(run: Run, url: str, tmp_path: Path) -> None:
    """One host is taken out of the free pool, and a host that is not enrolled is added to it."""
    config = tmp_path / "leasehold.conf"
    config.write_text(f"[database]\nconnection = {url}\n[cloud]\ndriver = sandbox\n")
    where = ("--config-file", str(config))
    run(*where, "sandbox", "plant")
    assert run(*where, "audit") == (0, "No differences between the database and the cloud.\n", "")
    world = open_service(url, clock=Clock())
    world.enrol("cmp-01")
    world.cloud.aggregates.remove_host("freepool", "cmp-01")
    world.cloud.aggregates.add_host("freepool", "cmp-02")
    code, said, _ = run(*where, "audit")
    assert code == 1
    assert "Host cmp-01 is enrolled, but it is in no aggregate of ours" in said
    code, said, _ = run(*where, "audit", "--repair", "--json")
    done = {found["subject"]: found["mended"] for found in json.loads(said)["findings"]}
    assert (code, set(done), done["cmp-02"]) == (1, {"1", "cmp-02"}, None)
    assert "next manager" in done["1"]
    run_manager(world)
    world.cloud.aggregates.remove_host("freepool", "cmp-02")
    world.engine.dispose()
    assert run(*where, "audit")[0] == 0


def test_audit_of_what_the_standalone_service_made_here(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cloud is the sandbox in the same database; there is no configuration."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    state_database().parent.mkdir()
    make_schema(f"sqlite:///{state_database()}")
    assert run("audit") == (0, "No differences between the database and the cloud.\n", "")


# ---------------------------------------------------------------- the record


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lease:
    """Return a lease that held a host for an hour and has it for another one, and two slots of another host."""
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02"), clock=(clock := Clock())) as world:
        lease = world.active(hosts(), instances(2, 1), end=2)
        run_until(world, world.hour(1))
        world.amend(lease, end=3)
        run_until(world, world.hour(1.5))
    monkeypatch.setattr("leasehold.cmd.record.shared_clock", lambda _engine: clock.now)
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path}/leasehold.db")
    return lease


def test_the_record_as_a_table_as_json_and_as_csv(run: Run, recorded: Lease) -> None:
    first = {
        "resource": "cmp-01",
        "resource_type": "physical:host",
        "slots": 1,
        "demand": None,
        "start": "2031-05-01T09:00:00Z",
        "end": "2031-05-01T10:00:00Z",
        "seconds": 3600,
        "start_cause": "granted",
        "end_cause": "extended",
        "project_id": recorded.project_id,
        "user_id": recorded.user_id,
        "lease_id": recorded.id,
        "reservation_id": recorded.reservations[0].id,
        "purpose": None,
    }
    goes_on = {"start": "2031-05-01T10:00:00Z", "end": None, "seconds": 1800, "start_cause": "extended"}
    code, said, _ = run("record", "--resource", "cmp-01", "--json")
    assert (code, json.loads(said)) == (0, [first, {**first, **goes_on, "end_cause": None}])
    rows = list(csv.DictReader(io.StringIO(run("record", "--csv")[1])))
    assert [(row["resource"], row["slots"], row["demand"], row["end"]) for row in rows] == [
        ("cmp-01", "1", "", "2031-05-01T10:00:00Z"),
        ("cmp-02", "2", "DISK_GB:1 MEMORY_MB:512 VCPU:1", "2031-05-01T10:00:00Z"),
        ("cmp-01", "1", "", ""),
        ("cmp-02", "2", "DISK_GB:1 MEMORY_MB:512 VCPU:1", ""),
    ]
    lines = run("record", "--lease", recorded.id)[1].splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["resource", "resource_type"], ["cmp-01", "physical:host"]]
    assert {line.index(recorded.id) for line in lines[1:]} == {lines[0].index("lease_id")}


def test_the_record_says_what_leases_were_for(run: Run, recorded: Lease, tmp_path: Path) -> None:
    """What is closed keeps the purpose of then; what goes on has that of now."""
    with closing(sqlite3.connect(tmp_path / "leasehold.db")) as connection, connection:
        connection.execute("UPDATE leases SET purpose = ? WHERE id = ?", ('Tests, "quoted"', recorded.id))
    rows = list(csv.DictReader(io.StringIO(run("record", "--resource", "cmp-01", "--csv")[1])))
    assert [row["purpose"] for row in rows] == ["", 'Tests, "quoted"']


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        pytest.param(("--since", "2031-05-01T11:30+02:00"), [1800, 1800], id="since, in a zone"),
        pytest.param(("--until", "2031-05-01 09:15"), [900], id="until, in UTC"),
        pytest.param(("--since", "2031-05-01T10:10", "--until", "2031-05-01T10:20"), [600], id="between"),
        pytest.param(("--since", "2031-05-02"), [], id="a day later"),
        pytest.param(("--project", "alt"), [], id="another project"),
    ],
)
def test_the_record_of_a_time_counts_what_lies_within(
    run: Run, recorded: Lease, asked: tuple[str, ...], seconds: list[int]
) -> None:
    assert recorded.project_id == "demo"
    assert [row["seconds"] for row in json.loads(run("record", "--resource", "cmp-01", "--json", *asked)[1])] == seconds


def test_a_record_of_nothing_says_so_in_every_form(run: Run, recorded: Lease) -> None:
    asked = ("record", "--lease", recorded.reservations[0].id)
    assert run(*asked) == (0, "Nothing was held.\n", "")
    assert run(*asked, "--json") == (0, "[]\n", "")
    assert run(*asked, "--csv")[1].startswith("resource,resource_type,")
    code, _, error = run("record", "--since", "2031-05-02", "--until", "2031-05-01")
    assert code == 1
    assert "--since has to be earlier than --until" in error


# ---------------------------------------------------------------- leasehold-status


CHECKS = ("Configuration", "Database", "Schema")


def check(run: Run, *arguments: str) -> tuple[int, dict[str, str], str]:
    """Run `leasehold-status upgrade check`; return its exit code, the result of each check, and its table."""
    code, said, _ = run("upgrade", "check", *arguments, program=status.run)
    lines = [line.strip("| ") for line in said.splitlines()]
    names = [line.removeprefix("Check: ") for line in lines if line.startswith("Check: ")]
    found = [line.removeprefix("Result: ") for line in lines if line.startswith("Result: ")]
    return code, dict(zip(names, found, strict=True)), said


def test_an_installation_that_is_ready(run: Run, tmp_path: Path, url: str) -> None:
    (tmp_path / "leasehold.conf").write_text(f"[database]\nconnection = {url}\n")
    code, results, said = check(run)
    assert (code, results) == (0, dict.fromkeys(CHECKS, "Success"))
    assert len({len(line) for line in said.splitlines()}) == 1


def test_a_schema_that_is_behind_fails_with_the_command_to_run_and_no_configuration_warns(
    run: Run, tmp_path: Path
) -> None:
    where = ("--database-url", f"sqlite:///{tmp_path}/leasehold.db")
    (tmp_path / "leasehold.db").touch()
    code, results, said = check(run, *where)
    assert (code, results) == (2, {"Configuration": "Warning", "Database": "Success", "Schema": "Failure"})
    assert "leasehold-manage db upgrade" in said
    run("db", "upgrade", *where)
    code, results, _ = check(run, *where)
    assert (code, results) == (1, {"Configuration": "Warning", "Database": "Success", "Schema": "Success"})


def test_a_database_that_does_not_answer_fails_without_its_password(run: Run) -> None:
    code, results, said = check(run, "--database-url", "postgresql+psycopg://someone:tiger@127.0.0.1:1/books")
    assert (code, results) == (2, {"Configuration": "Warning", "Database": "Failure"})
    assert "tiger" not in said


def test_a_configuration_that_cannot_be_read_fails_here_and_in_a_sentence_elsewhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "leasehold.conf").write_text("[database\n")
    code, _, error = run("db", "current")
    assert code == 1
    assert "The configuration cannot be used" in error
    code, results, _ = check(run)
    assert (code, results) == (2, {"Configuration": "Failure", "Database": "Failure"})


def test_pools_says_what_would_move_and_why_and_moves_it(run: Run, tmp_path: Path, database_url: str) -> None:
    config = tmp_path / "leasehold.conf"
    config.write_text("[cloud]\ndriver = sandbox\n[physical:host]\npool_floor = 2\npool_lead_seconds = 600\n")
    with make_service(database_url, clock=Clock(), hosts=["cmp-01"]) as world:
        world.share("cmp-02")
        where = ("pools", "--database-url", database_url, "--config-file", str(config))
        code, out, _ = run(*where, "--dry-run")
        assert code == 0
        assert "the floor is 2" in out
        assert "Would draw cmp-02, from which 0 servers have to move." in out
        assert world.host("cmp-02").membership == "shared"
        code, out, _ = run(*where)
        assert (code, "Begins to draw cmp-02" in out) == (0, True)
        assert world.host("cmp-02").membership == "drawing"
        code, out, _ = run(*where)
        assert (code, "Nothing moves." in out) == (0, True)


def test_default_properties_of_an_unknown_type_stop_the_start(run: Run, tmp_path: Path, database_url: str) -> None:
    config = tmp_path / "leasehold.conf"
    wanted = '[manager]\ndefault_properties_by_type = {"site:lamp": ["==", "$$hue", "red"]}\n'
    config.write_text(f"{wanted}[cloud]\ndriver = sandbox\n")
    with make_service(database_url, clock=Clock(), hosts=["cmp-01"]):
        code, _, error = run("pools", "--database-url", database_url, "--config-file", str(config), "--dry-run")
    assert (code, "names 'site:lamp', which no installed package provides" in error) == (1, True)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("cleaning_time_by_type = virtual:instance=5", "which uses other resources: name physical:host"),
        ("cleaning_time_by_type = site:lamp=5", "which no installed package provides"),
        ("lead_time_by_type = virtual:instance=5, site:lamp=5", "'site:lamp', which no installed package provides"),
    ],
)
def test_a_time_of_an_unknown_type_stops_the_start(
    run: Run, tmp_path: Path, database_url: str, option: str, told: str
) -> None:
    config = tmp_path / "leasehold.conf"
    config.write_text(f"[DEFAULT]\n{option}\n[cloud]\ndriver = sandbox\n")
    with make_service(database_url, clock=Clock(), hosts=["cmp-01"]):
        code, _, error = run("pools", "--database-url", database_url, "--config-file", str(config), "--dry-run")
    assert (code, told in error) == (1, True)
