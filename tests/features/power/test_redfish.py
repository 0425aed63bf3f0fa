"""The driver of Redfish, on an emulator behind a relay that loses requests, delays them and lies."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

import pytest

from leasehold.features.power.drivers.redfish import RedfishPower
from leasehold.features.power.options import MachineClass
from leasehold.features.power.port import PowerError
from tests.features.power.contract import is_off, obeys
from tests.features.power.emulator import PASSWORD, SYSTEMS, USER, emulator
from tests.processes import wait_for
from tests.relay import CUT, Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from leasehold.features.power.port import Power

pytestmark = pytest.mark.slow

CLASS = MachineClass("box", driver="redfish", username=USER, password=PASSWORD, timeout=timedelta(seconds=30))
NOBODYS_CLOUD: Any = None
"""No driver of machines of their own asks the cloud."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with emulator(tmp_path_factory.mktemp("redfish")) as found:
        yield found


@contextmanager
def relay(url: str, *troubles: tuple[int, bytes], delay: float = 0.0) -> Iterator[str]:
    """Yield the URL of a relay to the emulator, which answers its first requests with these troubles."""
    left = list(troubles)

    class Troubled(Relay):
        asked: ClassVar[list[str]] = []

        def target(self) -> str:
            time.sleep(delay)
            return f"{url}{self.path}"

        def trouble(self) -> tuple[int, bytes] | None:
            return left.pop(0) if left else None

    with listening(Troubled) as port:
        yield f"http://127.0.0.1:{port}"


def address(url: str, system: int = 0) -> str:
    return f"{url}/redfish/v1/Systems/{SYSTEMS[system]}"


def power(**changes: Any) -> Power:
    return RedfishPower(replace(CLASS, **changes), NOBODYS_CLOUD)


def test_a_machine_shuts_down_and_comes_up(url: str) -> None:
    obeys(power(), address(url))
    assert power().is_on(address(url, 1))


def test_a_request_that_is_lost_is_an_error_and_the_next_one_works(url: str) -> None:
    made = power()
    # Sushy tries again by itself, but not for ever.
    with relay(url, *[CUT] * 3) as lossy:
        with pytest.raises(PowerError, match="redfish"):
            made.is_on(address(lossy, 1))
        assert made.is_on(address(lossy, 1))
        made.switch_off(address(lossy, 1))
        is_off(made, address(lossy, 1))
        made.switch_on(address(lossy, 1))
        wait_for(lambda: made.is_on(address(lossy, 1)), within=60)


def test_a_controller_that_fails_is_an_error(url: str) -> None:
    with relay(url, (500, b'{"error": {"code": "Base.1.0.GeneralError"}}')) as broken, pytest.raises(PowerError):
        power().is_on(address(broken))


def test_a_controller_that_answers_nonsense_is_an_error(url: str) -> None:
    nonsense = json.dumps({"Systems": 7}).encode()
    with relay(url, (200, nonsense)) as broken, pytest.raises(PowerError):
        power().is_on(address(broken))


def test_a_controller_that_is_slow_is_not_waited_for(url: str) -> None:
    with relay(url, delay=3) as slow, pytest.raises(PowerError):
        power(timeout=timedelta(seconds=1)).is_on(address(slow))


def test_no_error_tells_the_password(url: str) -> None:
    made = power(password=f"{PASSWORD}-wrong")
    with pytest.raises(PowerError) as refused:
        made.is_on(address(url))
    assert PASSWORD not in f"{refused.value!r} {refused.value} {CLASS!r}"


def test_an_unknown_system_is_an_error(url: str) -> None:
    with pytest.raises(PowerError, match="nothing"):
        power().is_on(f"{url}/redfish/v1/Systems/nothing")
    with pytest.raises(PowerError):
        power().is_on("not a URL")
