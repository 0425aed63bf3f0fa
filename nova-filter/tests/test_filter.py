"""The filter with Nova's own classes: Nova's filter handler calls it, with Nova's objects and configuration."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import nova.conf
import pytest
from nova import context as nova_context
from nova import objects
from nova.db.api import api as api_database
from nova.db.api import models
from nova.scheduler import filters
from nova.scheduler.host_manager import HostState
from oslo_config import cfg
from oslo_messaging import TransportURL
from sqlalchemy import event, text

from leasehold_nova import options
from leasehold_nova.decision import FilterOptions
from leasehold_nova.filter import LeaseholdFilter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

objects.register_all()

PATH = "leasehold_nova.filter.LeaseholdFilter"
PROJECT = "1d6fa1b0a3e44f6e8f1c5f5b6f2b7a01"
OTHER = "9a1d4c36f4c94d3c9c9d2a58f2ab1c02"
OURS = "3f1a5c0e-5f5c-4f8e-9a65-0b7a4a6f1c01"
THEIRS = "b4a2c9d7-08e1-4a52-8d0e-6d1d7c2f9e02"
SLOTS = "c7e1d2f3-6b5a-4978-8c1d-2e3f4a5b6c03"
LEASE = "8c0f3a52-7d1b-4e8e-a1d4-2b6f9c3e7a05"
SERVER = "5d7b1f9e-3a52-4f0c-8f6c-7c2b1a0d9e44"
FLAVOR_KEY = "aggregate_instance_extra_specs:reservation"


def aggregate(name: str, **metadata: str) -> Any:
    return objects.Aggregate(name=name, metadata={key.replace("__", ":"): value for key, value in metadata.items()})


FREEPOOL = aggregate("freepool")
SPARE = aggregate("spare")
ORDINARY = aggregate("fast-disks", availability_zone="zone-a", ssd="true")
OURS_AGGREGATE = aggregate(OURS, availability_zone=f"blazar_{OURS}", blazar__owner=PROJECT)
OPENED = objects.Aggregate(
    name=OURS,
    metadata={"availability_zone": f"blazar_{OURS}", "blazar:owner": OTHER, PROJECT: "blazar:project"},
)
THEIRS_AGGREGATE = aggregate(THEIRS, availability_zone=f"blazar_{THEIRS}", blazar__owner=OTHER)
UNZONED = aggregate(OURS, blazar__owner=PROJECT, leasehold__pool="true")
LEGACY = aggregate(OURS, availability_zone=f"blazar:{OURS}", blazar__owner=PROJECT)
OF_LEASE = aggregate(OURS, availability_zone=f"blazar_{OURS}", blazar__owner=PROJECT, leasehold__lease=LEASE)
SLOTS_AGGREGATE = aggregate(SLOTS, reservation=SLOTS, filter_tenant_id=PROJECT, blazar__owner=PROJECT)


def host(*aggregates: Any, name: str = "compute-a") -> Any:
    """Return the scheduler's state of a host, updated as the scheduler does."""
    state = HostState(name, f"{name}.example.org", "cell")
    state.update(aggregates=list(aggregates))
    return state


def request(*, hint: Any = None, project: str = PROJECT, extra_specs: dict[str, str] | None = None) -> Any:
    """Return a boot request, made by the method with which Nova's API reads hints from a body."""
    flavor = objects.Flavor(flavorid="m1.small", vcpus=1, memory_mb=512, root_gb=1, ephemeral_gb=0, swap=0)
    flavor.extra_specs = extra_specs or {}
    hints = {} if hint is None else {"reservation": hint}
    spec = objects.RequestSpec(project_id=project, flavor=flavor, num_instances=1)
    spec.instance_uuid = SERVER
    spec._from_hints(hints)
    return spec


def preemptible() -> Any:
    return request(extra_specs={"blazar:preemptible": "True"})


def of_reservation(project: str = PROJECT, hint: Any = None) -> Any:
    return request(project=project, hint=hint, extra_specs={FLAVOR_KEY: SLOTS, "resources:CUSTOM_RESERVATION_X": "1"})


@pytest.fixture
def conf() -> Iterator[Any]:
    """Yield Nova's configuration with the filter's options; clears a test's overrides afterwards."""
    options.read(nova.conf.CONF)
    yield nova.conf.CONF
    for option in options.OPTIONS:
        nova.conf.CONF.clear_override(option.dest, group=options.GROUP)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Configure Nova's own API database, on SQLite, and return its engine."""
    file = tmp_path_factory.mktemp("nova") / "api.db"
    api_database.context_manager.configure(connection=f"sqlite:///{file}")
    # Registers `transport_url`, as the scheduler does at its start; Nova reads it for every mapping of a cell.
    TransportURL.parse(nova.conf.CONF, "none:///")
    engine = api_database.get_engine()
    models.BASE.metadata.create_all(engine)
    return engine


@pytest.fixture(autouse=True)
def database(schema: Any) -> Iterator[Any]:
    """Yield the engine of the API database, which is empty again afterwards."""
    yield schema
    with schema.begin() as connection:
        for table in reversed(models.BASE.metadata.sorted_tables):
            connection.execute(table.delete())


@pytest.fixture
def statements(database: Any) -> Iterator[list[str]]:
    """Yield a list to which each statement that the database executes is added."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    event.listen(database, "before_cursor_execute", note)
    yield seen
    event.remove(database, "before_cursor_execute", note)


def mapped(cell: str | None) -> None:
    """Store the server's mapping: to a cell with this UUID, or to none, while the scheduler has found no host."""
    context = nova_context.get_admin_context()
    values: dict[str, Any] = {"instance_uuid": SERVER, "project_id": PROJECT, "user_id": "u-1"}
    if cell is not None:
        values["cell_mapping"] = objects.CellMapping(
            context, uuid=cell, name="a-cell", transport_url="none:///", database_connection="sqlite://"
        )
        values["cell_mapping"].create()
    objects.InstanceMapping(context, **values).create()


def stored(engine: Any, name: str, lease: str) -> None:
    """Store the aggregate of a lease, without hosts; Nova's own way would send notifications."""
    with engine.begin() as connection:
        (number,) = connection.execute(models.Aggregate.__table__.insert(), {"name": name}).inserted_primary_key
        mark = {"aggregate_id": number, "key": "leasehold:lease", "value": lease}
        connection.execute(models.AggregateMetadata.__table__.insert(), mark)


CELL = "0c6a4c6c-8c1e-4c8c-9f4e-2f9f6d0a7b11"
CELL0 = objects.CellMapping.CELL0_UUID


def passing(spec: Any, *hosts: Any, index: int = 0) -> list[str]:
    """Return the names of the hosts that pass in Nova's handler with this filter alone."""
    handler = filters.HostFilterHandler()
    (filter_class,) = handler.get_matching_classes([PATH])
    return [state.host for state in handler.get_filtered_objects([filter_class()], hosts, spec, index)]


@pytest.mark.parametrize(
    ("spec", "aggregates", "passes"),
    [
        pytest.param(request(hint=OURS), [OPENED], True, id="1: opened to the project"),
        pytest.param(request(hint=OURS), [OURS_AGGREGATE], True, id="2: the project owns it"),
        pytest.param(request(hint=[OURS]), [OURS_AGGREGATE], True, id="2: the hint is a list"),
        pytest.param(request(hint=[THEIRS, OURS]), [OURS_AGGREGATE], True, id="2: one of several hints"),
        pytest.param(request(hint=LEASE), [OF_LEASE], True, id="2: by the lease"),
        pytest.param(request(hint=LEASE), [OURS_AGGREGATE], False, id="4: another lease"),
        pytest.param(request(hint=OURS), [LEGACY], True, id="2: legacy zone prefix"),
        pytest.param(request(hint=THEIRS), [THEIRS_AGGREGATE], False, id="3: somebody else's"),
        pytest.param(request(hint="freepool"), [FREEPOOL], False, id="3: the free pool has no owner"),
        pytest.param(request(hint=OURS), [FREEPOOL], False, id="4: free"),
        pytest.param(request(hint=OURS), [THEIRS_AGGREGATE], False, id="4: in another reservation"),
        pytest.param(request(hint=OURS), [], False, id="4: in no aggregate"),
        pytest.param(of_reservation(), [FREEPOOL, SLOTS_AGGREGATE], True, id="5: a host of the flavor's reservation"),
        pytest.param(of_reservation(hint=SLOTS), [FREEPOOL, SLOTS_AGGREGATE], True, id="5: with its own hint"),
        pytest.param(of_reservation(), [FREEPOOL], False, id="5: a free host"),
        pytest.param(of_reservation(OTHER), [FREEPOOL, SLOTS_AGGREGATE], False, id="5: another project"),
        pytest.param(preemptible(), [FREEPOOL], False, id="8: preemptible while that is off"),
        pytest.param(request(), [FREEPOOL], False, id="8: free pool, no hint"),
        pytest.param(request(hint=OURS), [UNZONED], True, id="2: a reservation without a zone"),
        pytest.param(request(), [UNZONED], False, id="8: a reservation without a zone"),
        pytest.param(request(), [OURS_AGGREGATE], False, id="8: own reservation, no hint"),
        pytest.param(request(hint=[]), [OURS_AGGREGATE], False, id="8: an empty list is no hint"),
        pytest.param(request(hint=""), [OURS_AGGREGATE], False, id="8: an empty text is no hint"),
        pytest.param(request(), [], True, id="9: an ordinary host"),
        pytest.param(request(), [ORDINARY], True, id="9: an ordinary aggregate"),
    ],
)
def test_rows(conf: Any, spec: Any, aggregates: list[Any], *, passes: bool) -> None:
    state = host(*aggregates)
    assert passing(spec, state) == (["compute-a"] if passes else [])
    assert LeaseholdFilter().host_passes(state, spec) is passes


@pytest.mark.parametrize(
    ("aggregates", "passes"),
    [
        pytest.param([SPARE], True, id="6: in the preemptible aggregate"),
        pytest.param([SPARE, ORDINARY], True, id="6: ordinary aggregates do not count"),
        pytest.param([FREEPOOL], False, id="7: free, not preemptible"),
        pytest.param([SPARE, OURS_AGGREGATE], False, id="7: leased"),
        pytest.param([], False, id="7: an ordinary host"),
    ],
)
def test_preemptible_servers(conf: Any, aggregates: list[Any], *, passes: bool) -> None:
    conf.set_override("allow_preemptibles", True, group=options.GROUP)
    conf.set_override("preemptible_aggregate", "spare", group=options.GROUP)
    assert passing(preemptible(), host(*aggregates)) == (["compute-a"] if passes else [])


def test_strict_flavors_can_be_switched_off(conf: Any) -> None:
    conf.set_override("strict_flavors", False, group=options.GROUP)
    assert passing(of_reservation(), host(FREEPOOL), host(name="compute-b")) == ["compute-a", "compute-b"]


def test_each_host_is_judged_by_itself(conf: Any) -> None:
    hosts = [
        host(FREEPOOL, name="free"),
        host(OURS_AGGREGATE, name="ours"),
        host(THEIRS_AGGREGATE, name="theirs"),
        host(ORDINARY, name="ordinary"),
    ]
    assert passing(request(hint=OURS), *hosts) == ["ours"]
    assert passing(request(), *hosts) == ["ordinary"]


def test_a_request_without_hints_or_extra_specs_is_an_ordinary_one(conf: Any) -> None:
    flavor = objects.Flavor(flavorid="m1.small")
    spec = objects.RequestSpec(project_id=PROJECT, flavor=flavor, scheduler_hints=None)
    assert LeaseholdFilter().host_passes(host(), spec)
    assert not LeaseholdFilter().host_passes(host(FREEPOOL), spec)


def test_it_runs_once_for_a_request_of_many_servers(conf: Any) -> None:
    assert passing(request(), host(FREEPOOL), index=0) == []
    assert passing(request(), host(FREEPOOL), index=1) == ["compute-a"]


def test_a_rebuild_stays_where_it_is(conf: Any) -> None:
    spec = request()
    spec.scheduler_hints["_nova_check_type"] = ["rebuild"]
    assert passing(spec, host(FREEPOOL)) == ["compute-a"]


EVERYWHERE = [
    host(ORDINARY, name="ordinary"),
    host(FREEPOOL, name="free"),
    host(THEIRS_AGGREGATE, name="theirs"),
    host(SLOTS_AGGREGATE, FREEPOOL, name="slots"),
]


def test_a_server_that_exists_moves_to_an_ordinary_host_when_its_reservations_are_over(
    conf: Any, statements: list[str]
) -> None:
    mapped(CELL)
    del statements[:]
    assert passing(request(hint=[OURS, "another"]), *EVERYWHERE) == ["ordinary"]
    assert len([each for each in statements if each.startswith("SELECT")]) == len(("mapping", "aggregates"))
    assert LeaseholdFilter().host_passes(EVERYWHERE[0], request(hint=OURS))


def test_its_hint_counts_while_its_reservation_lasts_even_if_no_host_of_it_is_left(conf: Any, database: Any) -> None:
    mapped(CELL)
    stored(database, OURS, LEASE)
    assert passing(request(hint=OURS), *EVERYWHERE) == []
    assert passing(request(hint=LEASE), *EVERYWHERE) == []
    assert passing(request(hint=["another", OURS]), *EVERYWHERE) == []


def test_a_reservation_of_which_a_host_is_there_costs_no_question(conf: Any, statements: list[str]) -> None:
    assert passing(request(hint=OURS), *EVERYWHERE, host(OURS_AGGREGATE, name="ours")) == ["ours"]
    assert statements == []


def test_a_request_without_hints_costs_no_question(conf: Any, statements: list[str]) -> None:
    assert passing(request(), *EVERYWHERE) == ["ordinary"]
    assert statements == []


@pytest.mark.parametrize("cell", [None, CELL0], ids=["not scheduled yet", "no host was found"])
def test_a_new_server_gets_no_host_before_its_reservation_begins(conf: Any, cell: str | None) -> None:
    mapped(cell)
    assert passing(request(hint=OURS), *EVERYWHERE) == []


def test_a_server_that_nova_does_not_know_is_new(conf: Any) -> None:
    assert passing(request(hint=OURS), *EVERYWHERE) == []


@pytest.mark.parametrize("table", ["instance_mappings", "aggregates"])
def test_while_the_database_does_not_answer_the_hint_counts(
    conf: Any, database: Any, caplog: pytest.LogCaptureFixture, table: str
) -> None:
    mapped(CELL)
    with database.begin() as connection:
        connection.execute(text(f"ALTER TABLE {table} RENAME TO away"))
    try:
        assert passing(request(hint=OURS), *EVERYWHERE) == []
    finally:
        with database.begin() as connection:
            connection.execute(text(f"ALTER TABLE away RENAME TO {table}"))
    (said,) = [record for record in caplog.records if record.name == "leasehold_nova.reservations"]
    assert (said.levelno, SERVER in said.getMessage()) == (logging.ERROR, True)


def test_the_log_says_why(conf: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="leasehold_nova.filter")
    passing(request(hint=THEIRS), host(THEIRS_AGGREGATE), host(THEIRS_AGGREGATE, name="compute-b"))
    why = f"project {PROJECT} may not use reservation {THEIRS}"
    assert [record.getMessage() for record in caplog.records if record.name == "leasehold_nova.filter"] == [
        f"Host compute-a refused to project {PROJECT}: {why} (row 3)",
        f"Host compute-b refused to project {PROJECT}: {why} (row 3)",
        f"Unauthorised use of a reservation: {why}",
    ]
    assert [record.levelno for record in caplog.records if record.levelno > logging.INFO] == [logging.WARNING]


def test_nova_finds_it_beside_its_own_filters() -> None:
    found = filters.HostFilterHandler().get_matching_classes(["nova.scheduler.filters.all_filters", PATH])
    assert LeaseholdFilter in found
    assert len(found) > 1


def read(tmp_path: Path, text: str, conf: Any = None) -> FilterOptions:
    conf = conf or cfg.ConfigOpts()
    (tmp_path / "nova.conf").write_text(text)
    conf(["--config-file", str(tmp_path / "nova.conf")], project="nova")
    return options.read(conf)


def test_a_nova_conf_made_for_blazar_is_understood(tmp_path: Path) -> None:
    text = """
[blazar:physical:host]
aggregate_freepool_name = free
preemptible_aggregate = spare
allow_preemptibles = true
blazar_az_prefix = leased_
blazar_owner = lease:owner
project_id_key = blazar:tenant
"""
    assert read(tmp_path, text) == FilterOptions("free", "spare", True, "leased_", "lease:owner", True)


def test_without_options_the_defaults_are_blazars(tmp_path: Path) -> None:
    assert read(tmp_path, "") == FilterOptions()


def test_options_that_blazars_filter_has_registered_are_used(tmp_path: Path) -> None:
    conf = cfg.ConfigOpts()
    theirs = cfg.StrOpt("aggregate_freepool_name", default="freepool", help="Another text.")
    conf.register_opts([theirs], group=options.GROUP)
    assert read(tmp_path, f"[{options.GROUP}]\naggregate_freepool_name = free", conf).aggregate_freepool_name == "free"


def test_an_empty_zone_prefix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cfg.ConfigFileValueError, match="blazar_az_prefix"):
        read(tmp_path, f"[{options.GROUP}]\nblazar_az_prefix =")
