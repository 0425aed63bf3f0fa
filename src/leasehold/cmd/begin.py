"""Where the services begin: one that is told to stop while it still loads or connects ends at once, with code 0."""

from __future__ import annotations

from importlib import import_module

from leasehold.cmd.signals import end_when_told


def api() -> None:
    """Run `leasehold-api`."""
    _begin("api")


def manager() -> None:
    """Run `leasehold-manager`."""
    _begin("manager")


def standalone() -> None:
    """Run `leasehold-standalone`."""
    _begin("standalone")


def _begin(name: str) -> None:
    """Run a program of this package. Loading what it imports takes most of its start, so the handlers come first."""
    end_when_told()
    import_module(f"leasehold.cmd.{name}").main()
