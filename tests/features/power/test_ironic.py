"""The driver of Ironic, on a real one that manages fake machines and those of a Redfish emulator."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import bcrypt
import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features import registry
from leasehold.features.power.drivers import load_power
from leasehold.features.power.drivers.ironic import IronicPower
from leasehold.features.power.machines import list_machines, set_machine
from leasehold.features.power.managed import FRESH, Controller, Managed
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.port import PowerError
from leasehold.model.errors import CloudUnavailableError, ConflictError
from tests.api.keystone.server import SERVICES_OWN, running_keystone
from tests.factory import AT_ONCE, make_service
from tests.features.power.contract import is_off, obeys
from tests.features.power.emulator import PASSWORD, SYSTEMS, USER, emulator
from tests.features.power.ironic import Ironic, ironic
from tests.features.power.night import Night
from tests.processes import Options, as_text, merged, wait_for
from tests.relay import CUT, Relay, listening
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

NOBODYS_CLOUD: Any = None
LOCKED = 409, json.dumps({"error_message": json.dumps({"faultstring": "Node x is locked by host y."})}).encode()
"""The errors of Ironic are JSON in JSON."""
UNABLE = 400, json.dumps({"error_message": {"faultstring": "The driver does not support the power state."}}).encode()
SYSTEM = "/redfish/v1/Systems/1"
BROKEN = 500, b"{}"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ironic]:
    with ironic(tmp_path_factory.mktemp("ironic")) as made:
        yield made


def read(folder: Path, options: Options) -> PowerSettings:
    """Return the settings of one class of machines that Ironic switches, as a configuration file has them."""
    path = folder / "leasehold.conf"
    usual: Options = {"database": {"connection": "sqlite://"}, "power": {"classes": "box"}}
    path.write_text(as_text(merged(merged(usual, {"power:box": {"driver": "ironic"}}), options)))
    return registry.load(["--config-file", str(path)]).settings.of(PowerSettings)


def power(folder: Path, url: str, **options: object) -> IronicPower:
    sections: Options = {"power:box": options, "ironic": {"auth_type": "none", "endpoint": url}}
    return IronicPower(read(folder, sections).classes[0], NOBODYS_CLOUD)


@contextmanager
def relay(url: str, method: str, *troubles: tuple[int, bytes], delay: float = 0.0) -> Iterator[str]:
    """Yield the URL of a relay that answers its first requests of a method with these troubles."""
    left = list(troubles)

    class Troubled(Relay):
        def target(self) -> str:
            time.sleep(delay)
            return f"{url}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            return left.pop(0) if left and self.command == method else None

    with listening(Troubled) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def node(here: Ironic) -> str:
    """Return the name of a fake machine that is on."""
    here.fake("node-1")
    return "node-1"


def test_a_machine_does_what_it_is_told(here: Ironic, node: str, tmp_path: Path) -> None:
    obeys(power(tmp_path, here.url), node)
    for root in (f"{here.url}/v1", f"{here.url}/"):
        assert not power(tmp_path, root).is_on(here.node(node)["uuid"])


def test_a_real_machine_is_switched_by_redfish(here: Ironic, tmp_path: Path) -> None:
    with emulator(tmp_path) as url:
        at = {"redfish_address": url, "redfish_system_id": f"/redfish/v1/Systems/{SYSTEMS[0]}"}
        login = {"redfish_username": USER, "redfish_password": PASSWORD, "redfish_verify_ca": False}
        with here.real("real", **at, **login):
            made = power(tmp_path, here.url)
            made.shut_down("real")
            is_off(made, "real")
            made.switch_on("real")
            wait_for(lambda: made.is_on("real"), within=60)


def test_the_account_of_the_cloud_and_its_catalogue_are_enough(tmp_path: Path) -> None:
    account = {"auth_type": "password", "username": "us", "password": "x", "user_domain_name": "Default"}
    with running_keystone() as keystone:
        middleware = {**account, "auth_url": keystone.url, "project_name": "service", "project_domain_name": "Default"}
        options = {"DEFAULT": {"auth_strategy": "keystone"}, "keystone_authtoken": middleware}
        roles = ("admin", "member", "reader")
        system: dict[str, Any] = {"project": None, "token": SERVICES_OWN, "system": {"all": True}}
        keystone.issue("us", *roles, **system)
        with ironic(tmp_path, options, {"X-Auth-Token": SERVICES_OWN}) as here:
            here.fake("node-1")
            faces = [{"id": "i", "interface": "internal", "region": "R", "region_id": "R", "url": here.url}]
            catalog = [{"id": "m", "type": "baremetal", "name": "ironic", "endpoints": faces}]
            keystone.issue("us", *roles, **system, catalog=catalog)
            cloud = {**account, "auth_url": keystone.url, "system_scope": "all"}
            made = IronicPower(read(tmp_path, {"cloud": cloud}).classes[0], NOBODYS_CLOUD)
            made.switch_off("node-1")
            is_off(made, "node-1")
            assert made.managed() == {}
            elsewhere = read(tmp_path, {"cloud": cloud, "ironic": {"region_name": "other"}}).classes[0]
            with pytest.raises(PowerError, match="no endpoint could be used"):
                IronicPower(elsewhere, NOBODYS_CLOUD).is_on("node-1")


def test_a_standalone_ironic_may_ask_for_a_password(tmp_path: Path) -> None:
    (tmp_path / "users").write_text(f"{USER}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n")
    options = {"DEFAULT": {"auth_strategy": "http_basic", "http_basic_auth_user_file": tmp_path / "users"}}
    login = {"Authorization": f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"}
    with ironic(tmp_path, options, login) as here:
        here.fake("node-1")
        section = {"auth_type": "http_basic", "endpoint": here.url, "username": USER, "password": PASSWORD}
        assert IronicPower(read(tmp_path, {"ironic": section}).classes[0], NOBODYS_CLOUD).is_on("node-1")
        wrong = read(tmp_path, {"ironic": {**section, "password": f"{PASSWORD}-x"}}).classes[0]
        with pytest.raises(PowerError, match="401") as refused:
            IronicPower(wrong, NOBODYS_CLOUD).is_on("node-1")
        assert PASSWORD not in f"{refused.value} {refused.value!r} {wrong!r}"


def test_a_change_under_way_is_waited_for(here: Ironic, node: str, tmp_path: Path) -> None:
    made = power(tmp_path, here.url)
    made.shut_down(node)
    # It is off, or on its way, so nobody is asked.
    with relay(here.url, "PUT", LOCKED) as watched:
        power(tmp_path, watched).switch_off(node)
    made.switch_on(node)
    wait_for(lambda: here.node(node)["reservation"] is None, within=60)
    assert made.is_on(node)


def test_a_node_that_is_locked_is_asked_again_but_not_for_ever(here: Ironic, node: str, tmp_path: Path) -> None:
    with relay(here.url, "PUT", LOCKED) as once:
        made = power(tmp_path, once)
        made.switch_off(node)
        is_off(made, node)
    with relay(here.url, "PUT", *[LOCKED] * 50) as locked, pytest.raises(PowerError, match="is locked by host y"):
        power(tmp_path, locked, timeout_seconds=2).switch_on(node)


def test_a_node_that_cannot_shut_down_is_switched_off(here: Ironic, node: str, tmp_path: Path) -> None:
    with relay(here.url, "PUT", UNABLE) as unable:
        power(tmp_path, unable).shut_down(node)
    is_off(power(tmp_path, here.url), node)


def test_what_is_refused_is_said(here: Ironic, node: str, tmp_path: Path) -> None:
    with relay(here.url, "PUT", UNABLE) as unable, pytest.raises(PowerError, match="does not support the power state"):
        power(tmp_path, unable).switch_off(node)


@pytest.mark.parametrize("trouble", [CUT, (503, b"{}")])
def test_a_request_that_is_lost_once_is_repeated(
    here: Ironic, node: str, tmp_path: Path, trouble: tuple[int, bytes]
) -> None:
    for method in ("GET", "PUT"):
        with relay(here.url, method, trouble) as lossy:
            made = power(tmp_path, lossy)
            assert made.is_on(node)
            made.switch_off(node)
        is_off(made := power(tmp_path, here.url), node)
        made.switch_on(node)
        wait_for(partial(made.is_on, node), within=60)


@pytest.mark.parametrize("answer", [BROKEN, (200, b"[]"), (200, b"{}"), (200, b"<html>"), (401, b"{}")])
def test_an_answer_of_no_use_is_an_error(here: Ironic, node: str, tmp_path: Path, answer: tuple[int, bytes]) -> None:
    for verb in (IronicPower.is_on, IronicPower.switch_off):
        with relay(here.url, "GET", answer) as broken, pytest.raises(PowerError):
            verb(power(tmp_path, broken), node)
    assert here.node(node)["power_state"] == "power on"


def test_an_ironic_that_is_slow_is_not_waited_for(here: Ironic, node: str, tmp_path: Path) -> None:
    with relay(here.url, "GET", delay=3) as slow, pytest.raises(PowerError, match="did not answer in time"):
        power(tmp_path, slow, timeout_seconds=1).is_on(node)


def test_a_node_in_maintenance_is_let_be(here: Ironic, node: str, tmp_path: Path) -> None:
    made = power(tmp_path, here.url)
    here.ask("PUT", f"/{node}/maintenance", {"reason": "a new disk"})
    for verb in (made.is_on, made.switch_on, made.shut_down, made.switch_off):
        with pytest.raises(PowerError, match="in maintenance \\(a new disk\\)"):
            verb(node)
    here.ask("DELETE", f"/{node}/maintenance")
    assert made.is_on(node)


def test_a_node_that_is_gone_is_an_error(here: Ironic, tmp_path: Path) -> None:
    made = power(tmp_path, here.url)
    here.fake("sold")
    assert made.is_on("sold")
    here.remove("sold")
    for verb in (made.is_on, made.switch_on, made.shut_down):
        with pytest.raises(PowerError, match="Ironic has no node sold: say with `leasehold power set` which one it is"):
            verb("sold")


def test_a_node_at_which_ironic_has_not_looked_is_neither_on_nor_off(here: Ironic, tmp_path: Path) -> None:
    here.ask("POST", "", {"name": "fresh", "driver": "fake-hardware"})
    with pytest.raises(PowerError, match="does not know whether the node fresh is on"):
        power(tmp_path, here.url).is_on("fresh")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ironic": {"auth_type": "none"}}, r"\[ironic\] endpoint"),
        ({"power:box": {"section": "other"}, "other": {"auth_type": "none"}}, r"\[other\] endpoint"),
        ({"ironic": {"auth_type": "password", "auth_url": "http://127.0.0.1:9"}}, r"\[ironic\].* password"),
        ({}, "No account for the cloud is configured"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused(tmp_path: Path, options: Options, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        IronicPower(read(tmp_path, options).classes[0], NOBODYS_CLOUD)


# ---------------------------------------------------------------- nobody else switches what Ironic manages


@pytest.fixture
def taken(here: Ironic) -> Iterator[str]:
    """Yield the address of a machine that Ironic manages by IPMI, and another one by Redfish."""
    nodes = {
        "by-ipmi": ("fake-hardware", {"ipmi_address": "10.1.0.7"}),
        "by-redfish": (
            "redfish",
            {"redfish_address": "https://10.1.0.8", "redfish_system_id": "/redfish/v1/Systems/1"},
        ),
    }
    for name, (driver, options) in nodes.items():
        here.ask("POST", "", {"name": name, "driver": driver, "driver_info": options})
    yield "10.1.0.7"
    for name in nodes:
        here.remove(name)


@contextmanager
def site(folder: Path, url: str) -> Iterator[Night]:
    """Yield a host that may sleep, and a class of machines that a program switches, beside those of Ironic."""
    program = folder / "switch"
    program.write_text('#!/bin/sh\necho "$1" >> "$0.log"\n[ "$1" = status ] && echo on\ntrue\n')
    program.chmod(0o755)
    found = read(
        folder,
        {
            "power": {"classes": "box, bmc", "spares": 0},
            "power:bmc": {"driver": "hook", "command": program},
            "power:box": {"timeout_seconds": 5},
            "ironic": {"auth_type": "none", "endpoint": url},
        },
    )
    with make_service(folder, settings=AT_ONCE.having(found), hosts=["cmp-01"]) as world:
        yield Night(world)


def test_what_ironic_manages_is_not_given_to_another_driver(here: Ironic, taken: str, tmp_path: Path) -> None:
    with site(tmp_path, here.url) as night:
        service, host = night.world.service, night.world.host("cmp-01")
        for address, name in ((taken, "by-ipmi"), (f"https://10.1.0.8{SYSTEM}/", "by-redfish")):
            with pytest.raises(ConflictError, match=f"the machine of Ironic's node {name} .class box") as refused:
                set_machine(service, host.id, "bmc", address, kept_on=False)
            assert refused.value.field == "address"
        assert not list_machines(service)
        set_machine(service, host.id, "bmc", "https://10.1.0.8/redfish/v1/Systems/2", kept_on=False)
        set_machine(service, host.id, "box", "by-ipmi", kept_on=False)
        assert [each.machine.address for each in list_machines(service)] == ["by-ipmi"]


def test_all_pages_of_nodes_are_read(here: Ironic, taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.cloud.openstack.rest.PAGE", 1)
    found = power(tmp_path, here.url).managed()
    redfish = Controller("10.1.0.8", "redfish", f"443{SYSTEM}")
    assert found == {Controller(taken, "ipmi", "623"): "Ironic's node by-ipmi", redfish: "Ironic's node by-redfish"}


def test_while_ironic_does_not_answer_nobody_is_given_a_machine(tmp_path: Path) -> None:
    with site(tmp_path, f"http://127.0.0.1:{free_port()}") as night:
        service, host = night.world.service, night.world.host("cmp-01")
        with pytest.raises(CloudUnavailableError, match="try again"):
            set_machine(service, host.id, "bmc", "10.1.0.9", kept_on=False)
        assert not list_machines(service)


def test_what_ironic_manages_later_is_not_switched_any_more(here: Ironic, tmp_path: Path) -> None:
    with site(tmp_path, here.url) as night:
        set_machine(night.world.service, night.world.host("cmp-01").id, "bmc", "10.1.0.9", kept_on=False)
        here.ask("POST", "", {"name": "later", "driver": "fake-hardware", "driver_info": {"ipmi_address": "10.1.0.9"}})
        night.run_for(hours=1)
        here.remove("later")
        found = night.machine("cmp-01")
        assert found.stage == "on"
        assert "Ironic's node later" in (found.machine.failure or "")
        assert night.world.host("cmp-01").reservable
        assert (tmp_path / "switch.log").read_text().split() == ["watts"]


def test_while_ironic_does_not_answer_machines_are_switched_on_alone(here: Ironic, taken: str, tmp_path: Path) -> None:
    answers, now = [True], [0.0]

    class Cut(Relay):
        def target(self) -> str:
            return f"{here.url}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            return None if answers[0] else CUT

    with listening(Cut) as port, site(tmp_path, f"http://127.0.0.1:{port}") as night:
        _, bmc = classes = night.world.service.settings.of(PowerSettings).classes
        managed = Managed(classes, night.world.service.cloud, clock=lambda: now[0])
        guarded = managed.guarding(bmc, load_power(bmc, night.world.service.cloud))
        guarded.shut_down("10.1.0.9")
        answers[0], now[0] = False, FRESH
        for _ in range(2):
            guarded.switch_on("10.1.0.9")
            for verb in (guarded.shut_down, guarded.switch_off):
                with pytest.raises(PowerError, match="ironic nodes"):
                    verb("10.1.0.9")
            with pytest.raises(PowerError, match="by-ipmi"):
                guarded.switch_on(taken)
        answers[0], now[0] = True, 2 * FRESH
        guarded.switch_off("10.1.0.9")
        assert (tmp_path / "switch.log").read_text().split() == ["shutdown", "on", "on", "off"]
