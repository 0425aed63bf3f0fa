"""The driver of IPMI, on the simulator of OpenIPMI."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.power.drivers.ipmi import IpmiPower
from leasehold.features.power.options import MachineClass
from leasehold.features.power.port import PowerError
from tests.features.power.contract import obeys
from tests.features.power.ipmi_sim import PASSWORD, USER, ipmi_sim
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

# The simulator does not know the request for its suites, which ipmitool repeats for ten seconds.
CLASS = MachineClass("box", driver="ipmi", username=USER, password=PASSWORD, cipher_suite="3")
NOBODYS_CLOUD: Any = None


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with ipmi_sim(tmp_path) as found:
        yield found


def answers(power: IpmiPower, address: str) -> bool:
    try:
        return power.is_on(address)
    except PowerError:
        return False


@pytest.fixture
def power(address: str) -> IpmiPower:
    made = IpmiPower(CLASS, NOBODYS_CLOUD)
    wait_for(lambda: answers(made, address))
    return made


def test_a_machine_shuts_down_and_comes_up(power: IpmiPower, address: str) -> None:
    obeys(power, address)
    assert power.watts(address) is None


def test_a_wrong_password_is_an_error_that_does_not_tell_it(power: IpmiPower, address: str) -> None:
    assert power.is_on(address)
    wrong = IpmiPower(replace(CLASS, password=f"{PASSWORD}-x"), NOBODYS_CLOUD)
    with pytest.raises(PowerError, match="Unable to establish") as refused:
        wrong.is_on(address)
    assert PASSWORD not in str(refused.value)


def test_nobody_who_answers_is_an_error(tmp_path: Path) -> None:
    with ipmi_sim(tmp_path) as gone:
        pass
    with pytest.raises(PowerError):
        IpmiPower(replace(CLASS, timeout=timedelta(seconds=2)), NOBODYS_CLOUD).is_on(gone)


@pytest.mark.parametrize("address", ["", "a b", "host:port", "[::1", "-oops:1:2"])
def test_what_is_no_address_is_an_error(address: str) -> None:
    with pytest.raises(PowerError, match="no address like"):
        IpmiPower(CLASS, NOBODYS_CLOUD).is_on(address)
