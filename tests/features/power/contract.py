"""What every driver of power does, whatever it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.processes import wait_for

if TYPE_CHECKING:
    from leasehold.features.power.port import Power

WITHIN = 60
"""Seconds that an emulated machine takes at most to switch on or off."""


def obeys(power: Power, address: str) -> None:
    """Check that a machine, which is on, does what it is told, and that each verb may be repeated."""
    assert power.is_on(address)
    power.switch_on(address)
    assert power.is_on(address)
    power.shut_down(address)
    is_off(power, address)
    for verb in (power.shut_down, power.switch_off):
        verb(address)
        assert not power.is_on(address)
    for _ in range(2):
        power.switch_on(address)
    wait_for(lambda: power.is_on(address), WITHIN)
    watts = power.watts(address)
    assert watts is None or watts >= 0
    power.switch_off(address)
    is_off(power, address)


def is_off(power: Power, address: str) -> None:
    """Wait until a machine is off."""
    wait_for(lambda: not power.is_on(address), WITHIN)
