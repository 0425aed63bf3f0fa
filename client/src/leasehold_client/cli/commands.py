"""The table of all commands: the name, and the class. `BLAZARS` have the names of Blazar's client, `OURS` do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.lease_list import ListLeases, ShowLease

if TYPE_CHECKING:
    from cliff.command import Command

BLAZARS: dict[str, type[Command]] = {
    "lease list": ListLeases,
    "lease show": ShowLease,
}
OURS: dict[str, type[Command]] = {}
COMMANDS = {**BLAZARS, **OURS}
