"""The alert rules, on series of which we know when each alert has to fire: promtool runs Prometheus's own code."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from tests.servers import ServerMissingError, find_program

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
RULES = HERE.parent.parent / "etc" / "prometheus" / "leasehold.rules.yml"
MOMENTS = HERE / "alerts.yml"


def promtool(*words: str | Path) -> None:
    program = find_program("promtool")
    if program is None:
        raise ServerMissingError("The alerts are tested with promtool; on Debian: apt-get install prometheus")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_can_be_read() -> None:
    promtool("check", "rules", RULES)


def test_each_alert_fires_when_it_should_and_not_when_it_should_not() -> None:
    promtool("test", "rules", MOMENTS)


def test_no_alert_is_without_a_moment_at_which_it_fires_and_one_at_which_it_does_not() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    seen: dict[str, set[bool]] = defaultdict(set)
    for test in yaml.safe_load(MOMENTS.read_text())["tests"]:
        for moment in test["promql_expr_test"]:
            assert moment["expr"] == f'ALERTS{{alertname="{test["name"]}",alertstate="firing"}}'
            seen[test["name"]].add(bool(moment["exp_samples"]))
    assert seen == {rule["alert"]: {True, False} for rule in group["rules"]}
