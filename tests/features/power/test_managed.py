"""Machines that another program manages are switched by nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.features.power.managed import Controller, Managed, controller_of
from leasehold.features.power.options import MachineClass

NOBODYS_CLOUD: Any = None
SYSTEM = "/redfish/v1/Systems/1"


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (f"https://10.1.0.7{SYSTEM}", Controller("10.1.0.7", "redfish", f"443{SYSTEM}")),
        (f"http://BMC-7.example.:8000{SYSTEM}/", Controller("bmc-7.example", "redfish", f"8000{SYSTEM}")),
        (f"https://[2001:DB8:0::7]{SYSTEM}", Controller("2001:db8::7", "redfish", f"443{SYSTEM}")),
        ("10.1.0.7", Controller("10.1.0.7", "ipmi", "623")),
        ("[2001:db8::7]:9623", Controller("2001:db8::7", "ipmi", "9623")),
        ("cmp-07", Controller("cmp-07", "ipmi", "623")),
        ("https://[::1/x", None),
        ("https://h:port/x", None),
        ("a path/of some program", None),
    ],
)
def test_an_address_names_a_controller(address: str, found: Controller | None) -> None:
    assert controller_of(address) == found


@pytest.mark.parametrize(
    ("address", "same"),
    [
        (f"https://10.1.0.7{SYSTEM}", True),
        (f"https://10.1.0.7{SYSTEM}/", True),
        ("10.1.0.7", True),
        ("https://10.1.0.7/redfish/v1/Systems/2", False),
        (f"https://10.1.0.7:8443{SYSTEM}", False),
        (f"https://10.1.0.8{SYSTEM}", False),
        ("10.1.0.70", False),
    ],
)
def test_one_controller_speaks_several_protocols_for_one_system_or_several(address: str, same: bool) -> None:  # noqa: FBT001 - of a parameter list.
    there, here = controller_of(f"https://10.1.0.7{SYSTEM}"), controller_of(address)
    assert there is not None
    assert here is not None
    assert (there.may_be(here), here.may_be(there)) == (same, same)


def test_without_a_program_that_manages_machines_nothing_is_asked() -> None:
    classes = [MachineClass("box", driver="hook", command=("true",))]
    managed = Managed(classes, NOBODYS_CLOUD)
    assert managed.manager_of(classes[0], "10.1.0.7") is None
