"""The driver that runs a program of the operator's."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features.power.drivers import load_power
from leasehold.features.power.drivers.hook import HookPower
from leasehold.features.power.options import MachineClass
from leasehold.features.power.port import PowerError
from tests.features.power.contract import obeys

if TYPE_CHECKING:
    from pathlib import Path

NO_CLOUD: Any = None
PROGRAM = """#!/bin/sh
echo "$@" >> "$0.log"
case "$2" in broken) echo "the cable is out" >&2; exit 3;; slow) sleep 60;; esac
case "$1" in
    status) cat "$0.$2" 2>/dev/null || echo on;;
    on) echo on > "$0.$2";;
    shutdown|off) echo off > "$0.$2";;
    watts) case "$2" in mute) ;; odd) echo many;; *) echo 98.5;; esac;;
esac
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "switch"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def made(program: Path, *arguments: str) -> HookPower:
    given = MachineClass("box", command=(str(program), *arguments), timeout=timedelta(seconds=2))
    return HookPower(given, NO_CLOUD)


def test_the_program_switches_and_tells(program: Path) -> None:
    power = made(program)
    obeys(power, "node-1")
    assert power.is_on("node 2; rm -rf /")
    assert (power.watts("node-1"), power.watts("mute")) == (98.5, None)


@pytest.mark.parametrize(
    ("address", "verb", "said"),
    [
        ("broken", "switch_on", "ended with 3 (on broken): the cable is out"),
        ("slow", "is_on", "did not end within 2 seconds (status slow)"),
        ("odd", "watts", "'many' of odd; watts has to print a number"),
    ],
)
def test_what_goes_wrong_is_said(program: Path, address: str, verb: str, said: str) -> None:
    with pytest.raises(PowerError) as found:
        getattr(made(program), verb)(address)
    assert said in str(found.value)


def test_a_status_that_is_neither_is_an_error(program: Path) -> None:
    program.with_name("switch.odd").write_text("perhaps\n")
    with pytest.raises(PowerError, match="'perhaps' of odd; status has to print on or off"):
        made(program).is_on("odd")


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PowerError, match="could not be run: No such file"):
        made(tmp_path / "nothing").is_on("node-1")


def test_a_class_without_a_program_or_with_an_unknown_driver_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"\[power:box\] command"):
        load_power(MachineClass("box"), NO_CLOUD)
    with pytest.raises(ConfigurationError, match=r"\[power:box\] driver: no installed package has a driver 'abacus'"):
        load_power(MachineClass("box", driver="abacus"), NO_CLOUD)
    with pytest.raises(ConfigurationError, match="only the sandbox has such machines"):
        load_power(MachineClass("box", driver="sandbox"), NO_CLOUD)
