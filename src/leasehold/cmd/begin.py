"""Entry points of the services. A service that is told to stop while it loads or connects ends at once, with code 0."""

from __future__ import annotations

from importlib import import_module

from leasehold.cmd.signals import end_when_told


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


def _begin(name: str) -> None:
    """Run a program of this package. Its imports take most of the start, so the signal handlers are set first."""
    end_when_told()
    import_module(f"leasehold.cmd.{name}").main()
