"""The metrics, error codes, options, programs and pages named in the operators' guide and in `etc` exist."""

from __future__ import annotations

import importlib
import re
from configparser import RawConfigParser
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from leasehold import conf, features
from leasehold.api.limits.event_waits import most_with_threads
from leasehold.cmd.serve import threads_for
from leasehold.conf.settings import ApiSettings
from leasehold.model.errors import LeaseholdError
from tests.operators.metric_names import METRIC, known_metrics, load_all

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs" / "operators"
ETC = ROOT / "etc"
UNITS = sorted((ETC / "systemd").glob("*.service"))
CODE = re.compile(r"`(leasehold\.[a-z_]+(?:\.[a-z_]+)*)`")
OF_GUNICORN = {"gunicorn"}
SAID_BY_THEMSELVES = {
    "leasehold.error",
    "leasehold.input.invalid",
    "leasehold.input.missing",
    "leasehold.input.date",
    "leasehold.input.expression",
    "leasehold.lease.before_end_date",
    "leasehold.http.malformed",
    "leasehold.http.method",
    "leasehold.version.not_acceptable",
    "leasehold.conflict",
}
"""Errors of callers whose message is sufficient; the guide has one line for all of them."""


def catalogue(base: type[LeaseholdError] = LeaseholdError) -> set[str]:
    importlib.import_module("leasehold.api.errors")  # Defines the API's own errors.
    load_all(features)
    return {base.code}.union(*(catalogue(error) for error in base.__subclasses__()))


def test_the_metrics_that_are_described_exist_and_all_are_described() -> None:
    named = set(METRIC.findall((GUIDE / "running.md").read_text()))
    known = known_metrics()
    assert named <= known
    assert known <= named


@pytest.mark.slow
def test_the_alerts_ask_for_metrics_that_exist_and_are_the_ones_in_the_guide() -> None:
    text = (ETC / "prometheus" / "leasehold.rules.yml").read_text()
    (group,) = yaml.safe_load(text)["groups"]
    for rule in group["rules"]:
        asked = set(METRIC.findall(rule["expr"]))
        assert asked, rule["alert"]
        assert asked <= known_metrics(), rule["alert"]
    alerts = {rule["alert"] for rule in group["rules"]}
    assert set(re.findall(r"`(Leasehold[A-Z]\w+)`", (GUIDE / "running.md").read_text())) <= alerts


def test_every_code_is_explained_and_no_other() -> None:
    named = set(CODE.findall((GUIDE / "failures.md").read_text()))
    assert named - {"leasehold.internal", "leasehold.wsgi"} <= catalogue()
    assert catalogue() - named <= SAID_BY_THEMSELVES


def test_the_example_configuration_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = conf.load(["--config-file", str(ETC / "leasehold" / "leasehold.conf")])
    assert config.api.auth_strategy == "keystone"
    assert config.api.metrics
    assert config.settings.manager.metrics.port == 9180


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_units_start_our_programs_and_give_up_on_bad_settings(unit: Path) -> None:
    # systemd allows a key to occur twice.
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # systemd's keys are case-sensitive.
    parser.read(unit)
    service = dict(parser["Service"])
    program = Path(service["ExecStart"].split()[0])
    assert program.parent == Path("/opt/leasehold/bin")
    assert program.name in {entry.name for entry in entry_points(group="console_scripts")} | OF_GUNICORN
    assert service["RestartPreventExitStatus"] == "2"
    assert (service["User"], service["NoNewPrivileges"], service["ProtectSystem"]) == ("leasehold", "yes", "strict")


def test_other_servers_are_given_as_many_threads_as_ours_has_and_those_of_requests_that_wait_for_events() -> None:
    pages = (ETC / "systemd" / "leasehold-wsgi.service", GUIDE / "running.md")
    named = [
        int(number) for page in pages for number in re.findall(r"(?<!\w)threads(?: = |[ =])(\d+)", page.read_text())
    ]
    assert named
    assert set(named) == {threads_for(ApiSettings()) + most_with_threads(ApiSettings())}


def test_more_than_one_failed_check_takes_an_api_out() -> None:
    balancer = re.search(r"\bcheck\b.*\bfall (\d+)", (GUIDE / "high-availability.md").read_text())
    assert balancer is not None
    assert int(balancer[1]) > 1
    proxied = re.findall(r"^    server .*max_fails=(\d+)", (ETC / "nginx" / "leasehold.conf").read_text(), re.MULTILINE)
    assert proxied
    assert all(int(number) > 1 for number in proxied)
