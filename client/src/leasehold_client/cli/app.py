"""`leasehold`: the commands alone, with no OpenStack needed."""

from __future__ import annotations

import logging
import sys
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from cliff.app import App
from cliff.commandmanager import CommandManager

from leasehold_client.cli.command.base import NAME
from leasehold_client.cli.commands import COMMANDS
from leasehold_client.cli.login import add_login, log_in

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from leasehold_client.client import Client


class ClientManager:
    """Holds the client, as the client manager of OpenStack's command line does."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    @cached_property
    def leasehold(self) -> Client:
        """The client; a command that sends no request needs no login."""
        return log_in(self._options)


class LeaseholdApp(App):
    """The program."""

    NAME = NAME

    def __init__(self, argv: Sequence[str]) -> None:
        """`argv` says which way to log in is used, and so which options there are."""
        self._argv = argv
        self.client_manager: ClientManager
        commands = CommandManager()
        for name, command in COMMANDS.items():
            commands.add_command(name, command)
        description = "Lease hosts, room for servers and floating IPs of a cloud, now or later."
        super().__init__(description, version("leasehold-client"), commands, deferred_help=True)

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: dict[str, Any] | None = None
    ) -> argparse.ArgumentParser:
        """Add the options of the login to those of every program of cliff."""
        parser = super().build_option_parser(description, version, argparse_kwargs)
        add_login(parser, self._argv)
        return parser

    def initialize_app(self, argv: list[str]) -> None:  # noqa: ARG002 - cliff's signature.
        """Called by cliff when the options are read."""
        # A retry of the session is nothing that its user can do anything about.
        logging.getLogger("keystoneauth").setLevel(logging.DEBUG if self.options.debug else logging.ERROR)
        self.client_manager = ClientManager(self.options)


def main() -> int:
    """Run the command of the command line, and return the exit status."""
    argv = sys.argv[1:]
    return LeaseholdApp(argv).run(argv or ["help"])
