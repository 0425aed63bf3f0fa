"""The start of every program: loads the configuration, sets up the log, and explains errors in a sentence."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cmd.database import OperatorError
from leasehold.conf import logging
from leasehold.db.schema import SchemaError
from leasehold.enforcement.base import UnknownFilterError
from leasehold.features import registry
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CANNOT_START = 2
"""Exit code of a program whose settings cannot be used."""
TRY_AGAIN = 1
"""Exit code of a program whose database did not answer, so that another start may succeed."""

SETTINGS_ERRORS = (conf.ConfigurationError, PluginError, SchemaError, UnknownFilterError)
"""Errors that an operator has to repair; each has a sentence as its message."""


@contextmanager
def explained(prog: str) -> Iterator[None]:
    """End the program with a sentence instead of a traceback when its settings, or its database, cannot be used."""
    try:
        yield
    except (*SETTINGS_ERRORS, OperatorError) as error:
        sys.stderr.write(f"{prog}: {error}\n")
        raise SystemExit(TRY_AGAIN if isinstance(error, OperatorError) else CANNOT_START) from None


def configure(
    prog: str, args: Sequence[str], about: str | None = None, defaults: Mapping[tuple[str, str], object] | None = None
) -> conf.Config:
    """Return the configuration for `args`, and set up the log; ends the program when the configuration is unusable.

    `about` is its description, and `defaults` replaces defaults for this program alone, see `conf.load`.
    """
    with explained(prog):
        config = registry.load(args, prog=prog, about=about, defaults=defaults)
    logging.set_up(config.raw)
    return config
