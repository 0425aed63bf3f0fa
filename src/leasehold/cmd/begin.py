"""Entry points of the programs. A service that is told to stop while it loads or connects ends at once, with code 0."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from leasehold.cmd.signals import end_when_told

if TYPE_CHECKING:
    from types import ModuleType


def api() -> None:
    """Run `leasehold-api`."""
    _begin("api")


def manager() -> None:
    """Run `leasehold-manager`."""
    _begin("manager")


def bridge() -> None:
    """Run `leasehold-bridge`."""
    _begin("bridge")


def standalone() -> None:
    """Run `leasehold-standalone`."""
    _begin("standalone")


def manage() -> None:
    """Run `leasehold-manage`."""
    _loaded("manage").main()


def status() -> None:
    """Run `leasehold-status`."""
    _loaded("status").main()


def _begin(name: str) -> None:
    """Run a service of this package. Its imports take most of the start, so the signal handlers are set first."""
    end_when_told()
    _loaded(name).main()


def _loaded(name: str) -> ModuleType:
    """Import a program of this package without the garbage collector, which would find nothing of what stays loaded.

    It would scan those 150,000 objects a dozen times: a sixth of the time of a start.
    """
    gc.disable()
    program = import_module(f"leasehold.cmd.{name}")
    gc.freeze()
    gc.enable()
    return program
