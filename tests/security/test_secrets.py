"""Passwords and tokens never appear in logs, answers, tracebacks, printed settings or the process list.

The programs are real, with debug logging. The tests cover valid and invalid callers, a Keystone that refuses, fails or
is unreachable, a database that dies, a defect in the data, and unusable settings.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text

from leasehold import conf
from leasehold.db.engine import open_engine
from tests.api.keystone.server import SERVICES_OWN, running_keystone
from tests.processes import prepare_database, running, wait_for
from tests.security.planted import (
    ACCOUNT,
    BAD_TOKEN,
    BEARER,
    CLOUD,
    DATABASE,
    GUESS,
    MEMCACHED,
    PASSWORD,
    SERVICE_TOKEN,
    TOKEN,
    Watch,
    options,
    write,
)
from tests.security.programs import api_with_passwords
from tests.servers import MariaDB, free_port
from tests.users import basic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.api.keystone.server import Keystone
    from tests.processes import Program

pytestmark = pytest.mark.slow

LEASE = {"name": "n", "start_date": "2040-01-01 10:00", "end_date": "2040-01-01 11:00"}
PATHS = ("/", "/healthcheck", "/metrics", "/v1/openapi.json", "/v1/leases", "/v1/os-hosts", "/v1/leases/nonsense")
BODIES: tuple[dict[str, Any], ...] = (
    {"json": LEASE},
    {"json": {**LEASE, "start_date": "nonsense"}},
    {"json": {"name": 3}},
    {"data": b"nonsense", "headers": {"Content-Type": "application/json"}},
    {"data": b"x", "headers": {"Content-Type": "text/nonsense"}},
)


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Yield a collector of all output, and search it for secrets after the test."""
    watch = Watch()
    yield watch
    watch.clean()


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    """Yield a fake Keystone with the token of a caller and the token of a service."""
    with running_keystone() as keystone:
        keystone.issue("t", "admin", "member", "reader", token=TOKEN)
        keystone.issue("s", "service", project="service", token=SERVICE_TOKEN)
        yield keystone


@contextmanager
def programs(wanted: dict[str, dict[str, object]]) -> Iterator[tuple[Program, Program]]:
    """Run an API and a manager, executed as an operator does, because the test reads their command lines."""
    with (
        running("leasehold-api", options=wanted, afresh=True) as api,
        running("leasehold-manager", options=wanted, afresh=True) as manager,
    ):
        yield api, manager


def visit(watch: Watch, program: Program, **headers: str) -> set[int]:
    """Send valid and invalid requests, and return the statuses."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = {watch.ask(program, "GET", path, headers=named) for path in PATHS}
    for body in BODIES:
        sent = {**body, "headers": {**named, **body.get("headers", {})}}
        found.add(watch.ask(program, "POST", "/v1/leases", **sent))
    return found


def test_keystone(watch: Watch, keystone: Keystone, tmp_path: Path) -> None:
    """Valid and invalid tokens, with a Keystone that works, refuses the service or fails, and with corrupt data."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    wanted = options(url, keystone.url)
    with programs(wanted) as (api, manager):
        assert {200, 201, 300, 400, 404} <= visit(watch, api, X_Auth_Token=TOKEN)
        visit(watch, api, X_Auth_Token=TOKEN, X_Service_Token=SERVICE_TOKEN)
        assert 401 in visit(watch, api, X_Auth_Token=BAD_TOKEN)
        visit(watch, api, X_Auth_Token=TOKEN, X_Service_Token=BAD_TOKEN)
        visit(watch, api, X_Auth_Token=f"{BAD_TOKEN} {BAD_TOKEN}", Authorization=f"Bearer {BEARER}")
        # Enrolling calls the cloud, but this Keystone's catalog has no Nova.
        watch.ask(api, "POST", "/v1/os-hosts", json={"name": "h"}, headers={"X-Auth-Token": TOKEN})
        for status in (401, 403, 500, 503):
            keystone.failing = status
            visit(watch, api, X_Auth_Token=f"{BAD_TOKEN}-{status}")
        corrupt(url)
        keystone.failing = None
        assert 500 in visit(watch, api, X_Auth_Token=TOKEN)
        wait_for(lambda: "Traceback" in api.log.read_text(errors="replace"))
        wait_for(lambda: manager.log.read_text(errors="replace"))
        for program in (api, manager):
            watch.process(program)
    # The search proves something only if the programs did handle the secrets.
    assert TOKEN in keystone.asked
    assert len(watch.seen["output of leasehold-api"].splitlines()) > 50
    assert SERVICES_OWN not in watch.seen["output of leasehold-api"]


def corrupt(url: str) -> None:
    """Give every lease an invalid status, which the code does not expect."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE leases SET status = 'NONSENSE'"))
    engine.dispose()


def test_http_basic(watch: Watch, tmp_path: Path) -> None:
    rates = {"max_failed_logins_per_minute": 15, "max_requests_per_minute": 1000}
    with api_with_passwords(tmp_path, f"{PASSWORD}:demo:admin,member,reader", afresh=True, **rates) as api:
        users = tmp_path / "users"
        hashed = users.read_text(encoding="utf-8").split(":")[1]
        assert 201 in visit(watch, api, Authorization=basic("alice", PASSWORD))
        users.write_text(f"alice:{PASSWORD}:demo:admin\n", encoding="utf-8")
        visit(watch, api, Authorization=basic("alice", PASSWORD))
        assert 401 in visit(watch, api, Authorization=basic("alice", GUESS))
        assert 429 in visit(watch, api, Authorization=basic(GUESS, GUESS))
        watch.process(api)
        assert hashed not in watch.seen["output of leasehold-api"]
        assert "users stay as they were" in watch.seen["output of leasehold-api"]


@pytest.mark.servers
def test_a_database_that_dies(watch: Watch, keystone: Keystone) -> None:
    """The database is killed while the programs run, restarts, and then refuses the password."""
    with MariaDB() as server:
        root = server.create_database()
        name = make_url(root).database
        server._execute(f"CREATE USER leasehold@'127.0.0.1' IDENTIFIED BY '{DATABASE}'")
        server._execute(f"GRANT ALL ON {name}.* TO leasehold@'127.0.0.1'")
        url = f"mysql+pymysql://leasehold:{quote(DATABASE, safe='')}@127.0.0.1:{server.port}/{name}"
        prepare_database(url)
        wanted = options(url, keystone.url)
        with programs(wanted) as (api, manager):
            assert 201 in visit(watch, api, X_Auth_Token=TOKEN)
            # Wait for the manager's first round, in which its call to the cloud fails.
            wait_for(lambda: "nova" in manager.log.read_text(errors="replace").lower(), within=60)
            server.kill()
            assert ask_the_database(watch, api) == {503}
            wait_for(lambda: "Traceback" in manager.log.read_text(errors="replace"), within=60)
            server.start()
            server._execute(f"SET PASSWORD FOR leasehold@'127.0.0.1' = PASSWORD('{GUESS}')")
            server.kill()
            server.start()
            assert ask_the_database(watch, api) == {503}
            for program in (api, manager):
                watch.process(program)
    assert "Traceback" in watch.seen["output of leasehold-api"]


def ask_the_database(watch: Watch, api: Program) -> set[int]:
    """Send requests that need the database, and return the statuses."""
    token = {"X-Auth-Token": TOKEN}
    found = {watch.ask(api, "GET", path, headers=token) for path in ("/v1/leases", "/healthcheck")}
    return found | {watch.ask(api, "POST", "/v1/leases", json=LEASE, headers=token)}


WORDS = quote(DATABASE, safe="")
UNUSABLE = {
    "nobody there": f"mysql+pymysql://leasehold:{WORDS}@127.0.0.1:{{port}}/leasehold",
    "nobody there either": f"postgresql+psycopg://leasehold:{WORDS}@127.0.0.1:{{port}}/leasehold",
    "no port": f"mysql+pymysql://leasehold:{WORDS}@127.0.0.1:nonsense/leasehold",
    "no such driver": f"oracle://leasehold:{WORDS}@127.0.0.1/leasehold",
    "no such option": f"postgresql+psycopg://leasehold:{WORDS}@127.0.0.1/leasehold?nonsense={WORDS}",
    "an at sign": f"mysql+pymysql://leasehold:{DATABASE}@{DATABASE}@127.0.0.1:{{port}}/leasehold",
    "no URL": f"{DATABASE}",
    "half a URL": f"//leasehold:{DATABASE}@127.0.0.1",
}
PROGRAMS = (
    ("leasehold-api",),
    ("leasehold-manager",),
    ("leasehold-manage", "db", "upgrade"),
    ("leasehold-manage", "audit"),
    ("leasehold-status", "upgrade", "check"),
)


@pytest.mark.parametrize("name", UNUSABLE)
def test_databases_that_cannot_be_used(watch: Watch, tmp_path: Path, name: str) -> None:
    """A program ends with an error that does not contain the password."""
    port = free_port()
    wanted = options(UNUSABLE[name].format(port=port), f"http://127.0.0.1:{port}/v3")
    wanted["api"]["auth_strategy"] = "none"
    wanted["DEFAULT"] |= {"host": "127.0.0.1", "port": port}
    config = write(tmp_path, wanted)
    # Run only two programs per URL, since each start takes a second; every program gets several of the URLs.
    first = list(UNUSABLE).index(name)
    for number in (first, first + 2):
        program, *words = PROGRAMS[number % len(PROGRAMS)]
        assert watch.run(config, program, *words) != 0, program
        assert watch.seen[f"output of {program} {' '.join(words)}"], program


@pytest.mark.parametrize(
    ("section", "option", "value"),
    [
        ("keystone_authtoken", "password", f"{ACCOUNT}$nonsense"),
        ("keystone_authtoken", "auth_type", "nonsense"),
        ("keystone_authtoken", "memcache_security_strategy", "nonsense"),
        ("cloud", "auth_type", "nonsense"),
        ("api", "port", "nonsense"),
        ("enforcement", "max_open_leases", "nonsense"),
    ],
)
def test_settings_that_cannot_be_used(watch: Watch, tmp_path: Path, section: str, option: str, value: str) -> None:
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    wanted = options(url, f"http://127.0.0.1:{free_port()}/v3")
    wanted.setdefault(section, {})[option] = value
    wanted["DEFAULT"] |= {"host": "127.0.0.1", "port": "nonsense" if option == "port" else free_port()}
    config = tmp_path / "leasehold.conf"
    lines = [f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items()) for name, values in wanted.items()]
    config.write_text("".join(lines), encoding="utf-8")
    assert watch.run(config, "leasehold-api") != 0


@pytest.mark.filterwarnings("ignore:'cgi' is deprecated:DeprecationWarning")
def test_settings_do_not_show_them(watch: Watch, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Covers what is printed for debugging: the settings, the engine, all options of oslo.config."""
    url = f"mysql+pymysql://leasehold:{quote(DATABASE, safe='')}@127.0.0.1:1/leasehold"
    path = write(tmp_path, options(url, "http://127.0.0.1:1/v3"))
    config = conf.load(["--config-file", str(path)])
    from leasehold.api.auth.keystone import KeystoneAuthentication  # noqa: PLC0415 - the import emits a warning.

    KeystoneAuthentication(config.raw)
    assert config.raw["keystone_authtoken"].password == ACCOUNT
    assert config.raw["cloud"].password == CLOUD
    with caplog.at_level("DEBUG"):
        config.raw.log_opt_values(logging.getLogger("all"), logging.DEBUG)
    watch.add("options", caplog.text)
    assert config.raw["keystone_authtoken"].memcache_secret_key == MEMCACHED
    assert "keystone_authtoken.memcache_secret_key = ****" in caplog.text
    engine = open_engine(url)
    for thing in (config, config.settings, config.api, engine, engine.url):
        watch.add(f"a {type(thing).__name__}", f"{thing!r} {thing}")
    engine.dispose()
